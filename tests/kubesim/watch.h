// One open watch of the simulator.
#ifndef NAVE_TESTS_KUBESIM_WATCH_H_
#define NAVE_TESTS_KUBESIM_WATCH_H_

#include "tests/kubesim/kubesim.h"
#include "tests/kubesim/selectors.h"

namespace nave::kubesim {

struct KubeSim::Watch {
  WatchId id = 0;
  // A copy: the kind may go while the watch lives.
  KindInfo kind;
  std::string ns;
  Selector selector;
  bool metadata_only = false;
  bool bookmarks = false;
  absl::Time deadline = absl::InfiniteFuture();
  absl::Time next_bookmark = absl::InfiniteFuture();
  WatchSink sink;
};

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_WATCH_H_
