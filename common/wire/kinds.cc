#include "common/wire/kinds.h"

#include <google/protobuf/message.h>

#include "absl/strings/match.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/cluster_set.pb.h"
#include "nave/v1/event.pb.h"
#include "nave/v1/join_token.pb.h"
#include "nave/v1/project.pb.h"
#include "nave/v1/role_binding.pb.h"

namespace nave {
namespace {

template <typename Message>
google::protobuf::Message* Make() {
  return new Message();
}

}  // namespace

const std::vector<KindInfo>& Kinds() {
  static const auto* kKinds = new std::vector<KindInfo>{
      {"Project", "projects", {"project", "projects"}, false, true, &Make<v1::Project>},
      {"ClusterSet",
       "clusterSets",
       {"clusterset", "clustersets", "cluster-set", "cluster-sets", "set", "sets"},
       false,
       true,
       &Make<v1::ClusterSet>},
      {"Cluster", "clusters", {"cluster", "clusters"}, false, true, &Make<v1::Cluster>},
      {"RoleBinding",
       "roleBindings",
       {"rolebinding", "rolebindings", "role-binding", "role-bindings"},
       false,
       true,
       &Make<v1::RoleBinding>},
      {"JoinToken",
       "joinTokens",
       {"jointoken", "jointokens", "join-token", "join-tokens", "token", "tokens"},
       false,
       true,
       &Make<v1::JoinToken>},
      {"Bundle", "bundles", {"bundle", "bundles"}, true, true, &Make<v1::Bundle>},
      {"BundleRevision",
       "revisions",
       {"bundlerevision", "bundlerevisions", "revision", "revisions"},
       true,
       false,
       &Make<v1::BundleRevision>},
      {"Event", "events", {"event", "events"}, true, false, &Make<v1::Event>},
  };
  return *kKinds;
}

const KindInfo* FindKind(absl::string_view word) {
  for (const KindInfo& info : Kinds()) {
    if (absl::EqualsIgnoreCase(info.kind, word) || absl::EqualsIgnoreCase(info.collection, word))
      return &info;
    for (absl::string_view alias : info.words) {
      if (absl::EqualsIgnoreCase(alias, word)) return &info;
    }
  }
  return nullptr;
}

const KindInfo* KindOf(const google::protobuf::Message& message) {
  if (message.GetDescriptor()->file()->package() != "nave.v1") return nullptr;
  for (const KindInfo& info : Kinds()) {
    if (message.GetDescriptor()->name() == std::string(info.kind)) return &info;
  }
  return nullptr;
}

}  // namespace nave
