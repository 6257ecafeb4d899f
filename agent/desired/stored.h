// What is durable of one key, as the store keeps it in memory.
#ifndef NAVE_AGENT_DESIRED_STORED_H_
#define NAVE_AGENT_DESIRED_STORED_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/desired/secret_writer.h"

namespace nave {

// One content. Kept compressed: most of it is looked at once in a day.
struct StoredContent {
  std::vector<SecretRef> parts;
  std::string packed;
  std::vector<Digest> objects;  // Sorted.
};

struct StoredInventory {
  std::vector<SecretRef> shards;
  // SHA-256 of the entries that each shard's Secret holds, to write only those that change.
  std::vector<Digest> written;
  Inventory entries;
  // After kStateLost: how many shards its Secrets speak of (the next writing uses more when they
  // were not all there), and whether they speak of several numbers.
  uint32_t count_seen = 0;
  bool mixed = false;
};

// What was found at the start.
struct LoadedState {
  LoadOutcome outcome = LoadOutcome::kUnavailable;
  AgentState state;
  // nave-state; without a name when there is none.
  SecretRef state_ref;
  std::map<Uuid, std::map<Digest, StoredContent>> contents;
  std::map<Uuid, StoredInventory> inventories;
  // Secrets of the agent's state that nothing names. After kStateLost they go with the first
  // commit.
  std::vector<SecretRef> unnamed;
};

}  // namespace nave

#endif  // NAVE_AGENT_DESIRED_STORED_H_
