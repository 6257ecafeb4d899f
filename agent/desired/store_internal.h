// What the files of SecretDesiredStore share.
#ifndef NAVE_AGENT_DESIRED_STORE_INTERNAL_H_
#define NAVE_AGENT_DESIRED_STORE_INTERNAL_H_

#include <memory>
#include <utility>

#include "agent/desired/secret_desired_store.h"

namespace nave {

template <typename F>
auto SecretDesiredStore::Guarded(F task) {
  return [alive = std::weak_ptr<bool>(alive_), task = std::move(task)](auto&&... args) mutable {
    if (alive.lock() != nullptr) task(std::forward<decltype(args)>(args)...);
  };
}

}  // namespace nave

#endif  // NAVE_AGENT_DESIRED_STORE_INTERNAL_H_
