// One hub process: what is started in which order, and how it ends.
#ifndef NAVE_HUB_HUB_H_
#define NAVE_HUB_HUB_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hub/config/config.h"

namespace nave {

inline constexpr char kHubVersion[] = "0.1.0";

// Ports that were really taken.
struct HubPorts {
  int api = 0;
  int agents = 0;
  int health = 0;
};

class Hub {
 public:
  // Opens data directory and store, begins a term, loads the index, opens the ports. On an error
  // nothing is left running and nothing was made that was not there. `on_fatal` is called at most
  // once, on a thread of the hub, when the process must exit (the store went back under it).
  static absl::StatusOr<std::unique_ptr<Hub>> Start(const HubConfig& config,
                                                    std::function<void(absl::Status)> on_fatal);
  // Stop, if that was not called.
  virtual ~Hub() = default;

  virtual HubPorts ports() const = 0;
  // Path of the first administrator's context when this start made it; else empty.
  virtual std::string admin_context_made() const = 0;
  // Unready at once; after the drain delay agents are told to dial again, calls end, ports close.
  // Blocks.
  virtual void Stop() = 0;
};

}  // namespace nave

#endif  // NAVE_HUB_HUB_H_
