#include "hub/core/first_records.h"

#include <string>
#include <utility>

#include "common/base/status_macros.h"
#include "common/model/cluster.h"
#include "common/model/tenancy.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"

namespace nave {

absl::Status EnsureFirstRecords(RecordStore* records, absl::Time now) {
  constexpr char kDefault[] = "default";
  for (KeyKind kind : {KeyKind::kProject, KeyKind::kClusterSet}) {
    ASSIGN_OR_RETURN(RangePage page, records->Range(KindPrefix(kind), "", 1, 0));
    if (!page.items.empty()) return absl::OkStatus();
  }
  ObjectMeta meta;
  meta.generation = 1;
  meta.create_time = now;
  meta.update_time = now;

  Project project;
  project.id = kDefault;
  project.meta = meta;
  project.meta.uid = Uuid::Random();
  project.cluster_sets = {kDefault};
  ClusterSet set;
  set.id = kDefault;
  set.meta = meta;
  set.meta.uid = Uuid::Random();

  RecordTxn txn;
  txn.Compare(ProjectKey(kDefault), 0);
  txn.Compare(ClusterSetKey(kDefault), 0);
  txn.Put(ProjectKey(kDefault), EncodeRecord(project));
  txn.Put(ClusterSetKey(kDefault), EncodeRecord(set));
  return records->Commit(std::move(txn)).status();
}

}  // namespace nave
