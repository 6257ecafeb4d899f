// A whole fleet in one thread, moved by a seed: orders of people, faults, restarts, restored and
// lost databases; and what must hold all the while.
#ifndef NAVE_TESTS_SIM_WORLD_H_
#define NAVE_TESTS_SIM_WORLD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/backoff.h"
#include "common/runtime/executor.h"
#include "tests/sim/sim_hub.h"
#include "tests/sim/spoke.h"

namespace nave::sim {

// What people believe a bundle is.
struct BundleModel {
  std::map<std::string, std::string> maps;  // ConfigMaps: name to value.
  bool deployment = false;
  std::set<std::string> clusters;
  // Removed only after a person confirmed it.
  bool volume = false;
  bool deleted = false;
  // The newest version is one that every agent refuses; the rest here is the one before.
  bool refused = false;
  // All that it ever listed, as "resource/ns/name".
  std::set<std::string> all_objects;
  // Where it was placed since the last backup.
  std::set<std::string> placed;
  // Where it may run without the hub knowing why: placed there in a history that a restore took
  // away. The agent keeps it and says NotDesired.
  std::set<std::string> stranded;

  // Those that it lists now.
  std::set<std::string> Objects(const std::string& id) const;
  std::string Manifests(const std::string& id) const;
};
// What a run takes, here and with planted faults.
inline constexpr int kStepsOfARun = 40;

// The object that is the volume of a bundle.
std::string VolumeKey(const std::string& id);
bool IsVolumeKey(const std::string& object);
using FleetModel = std::map<std::string, BundleModel>;

class World {
 public:
  explicit World(uint64_t seed, size_t spokes = 3);
  ~World();

  // `steps` orders and faults with time between them, then peace, and a check of everything. True:
  // nothing was wrong.
  bool Run(int steps);
  // What was wrong, with what happened before.
  std::string Report() const;
  // How often each thing happened, for the shares of a run.
  const std::map<std::string, int>& counts() const { return counts_; }
  // The same for the same seed.
  std::string Fingerprint();

 private:
  void Step();
  // One kind of thing each; `dice` has decided.
  void Order();
  void Fault();
  void Disaster();
  void EndFaults();

  void ApplyNew();
  void ChangeBundle();
  void ChangePlacement();
  void DeleteBundle();
  void MeddleWithObject();
  // Away from all its clusters but one, and back before that is done.
  void Waver();
  // The same removal of a volume ordered twice, confirmed once.
  void FlipVolume();

  void Note(const std::string& what);
  void Fail(const std::string& what);
  void Pass(absl::Duration time);
  void CheckDeletion(Spoke& spoke, const Deletion& deletion, bool holds);
  // "" when everything is as people ordered.
  std::string Difference();
  std::string DifferenceOn(Spoke& spoke);
  // The difference of one bundle's objects; `left` are the bundles that the agent is to leave
  // alone.
  std::string ObjectsDifference(Spoke& spoke, const std::string& id, const BundleModel& bundle,
                                const std::set<std::string>& left);
  // The database goes back to the backup, and with it what is ordered.
  void RestoreModel();
  // From here on the present state is the order.
  void OrderAdopt();
  bool Converge();
  void CheckQuiet();

  std::set<std::string> RandomClusters();
  Spoke& RandomSpoke() { return *spokes_[random_.Below(spokes_.size())]; }
  BundleModel* RandomBundle(std::string* id);
  // The removal of these was ordered on that cluster.
  void OrderRemoval(const std::string& cluster, const std::set<std::string>& objects);
  void Push(const std::string& id);
  // A version that every agent refuses, and the good one again for all such bundles.
  static void NotePlaced(BundleModel* bundle);
  void PushRefused(const std::string& id);
  void PushAgain();
  // A person confirms everything that waits for it.
  void ConfirmHeld();

  const uint64_t seed_;
  SplitMix random_;
  ManualExecutor executor_{absl::FromUnixSeconds(1'800'000'000)};
  std::unique_ptr<SimHub> hub_;
  std::vector<std::unique_ptr<Spoke>> spokes_;
  FleetModel model_;
  int next_bundle_ = 0;
  int next_value_ = 0;
  // All that a bundle of that name ever listed, in any history.
  std::map<std::string, std::set<std::string>> ever_;
  // What each version lists.
  std::map<Digest, std::set<std::string>> listed_;
  // A copy of the database as somebody took it, and what was ordered by then.
  std::string backup_;
  FleetModel backup_model_;
  bool has_backup_ = false;
  bool needs_adopt_ = false;
  std::set<std::string> ordered_;  // "cluster resource/ns/name"
  std::map<std::string, int> counts_;
  std::vector<std::string> log_;
  std::vector<std::string> failures_;
};

}  // namespace nave::sim

#endif  // NAVE_TESTS_SIM_WORLD_H_
