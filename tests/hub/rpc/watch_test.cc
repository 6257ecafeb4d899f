// Watches: the items, SYNCED, then changes; resumed, compacted, slow, drained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"
#include "nave/v1/bundle.grpc.pb.h"
#include "nave/v1/cluster.grpc.pb.h"
#include "nave/v1/cluster_set.grpc.pb.h"
#include "nave/v1/event.grpc.pb.h"
#include "nave/v1/join_token.grpc.pb.h"
#include "nave/v1/role_binding.grpc.pb.h"
#include "tests/hub/rpc/harness.h"

namespace nave {
namespace {

using testing::ElementsAre;

ApiOptions Quick() {
  ApiOptions options;
  options.watch_interval = absl::ZeroDuration();
  options.watch_backlog_max = 4;
  return options;
}

// One watch, read message by message.
template <typename Response>
class Reader {
 public:
  template <typename Start>
  Reader(const std::string& user, Start start) {
    ApiHarness::Identify(user, &context_);
    reader_ = start(&context_);
  }
  ~Reader() {
    context_.TryCancel();
    Response rest;
    while (reader_->Read(&rest)) {
    }
    if (!ended_) (void)reader_->Finish().ok();
  }

  // "ITEM name", "DELETED name", "SYNCED"; the error's reason at the end.
  std::string Next() {
    if (!reader_->Read(&last_)) {
      ended_ = true;
      return ReasonOf(FromGrpcStatus(reader_->Finish()));
    }
    const auto* field = Response::descriptor()->FindFieldByNumber(2);
    const auto& record = last_.GetReflection()->GetMessage(last_, field);
    std::string name =
        record.GetReflection()->GetString(record, record.GetDescriptor()->FindFieldByName("name"));
    if (last_.type() == v1::WATCH_EVENT_TYPE_SYNCED) return "SYNCED";
    return absl::StrCat(last_.type() == v1::WATCH_EVENT_TYPE_ITEM ? "ITEM " : "DELETED ", name);
  }
  // Up to SYNCED.
  std::vector<std::string> ToSynced() {
    std::vector<std::string> messages;
    do messages.push_back(Next());
    while (!ended_ && messages.back() != "SYNCED");
    return messages;
  }
  const Response& last() const { return last_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderInterface<Response>> reader_;
  Response last_;
  bool ended_ = false;
};

using SetReader = Reader<v1::WatchClusterSetsResponse>;
using ClusterReader = Reader<v1::WatchClustersResponse>;

class WatchTest : public testing::Test {
 protected:
  std::unique_ptr<SetReader> Sets(const std::string& request, const std::string& user = "admin") {
    return std::make_unique<SetReader>(user, [&](grpc::ClientContext* context) {
      return sets_->WatchClusterSets(context, Text<v1::WatchClusterSetsRequest>(request));
    });
  }
  std::unique_ptr<ClusterReader> Clusters(const std::string& request,
                                          const std::string& user = "admin") {
    return std::make_unique<ClusterReader>(user, [&](grpc::ClientContext* context) {
      return clusters_->WatchClusters(context, Text<v1::WatchClustersRequest>(request));
    });
  }
  void AddSet(const std::string& id, const std::string& label = "x") {
    v1::ClusterSet set;
    ASSERT_EQ(hub_.Call(sets_.get(), &v1::ClusterSetService::Stub::UpdateClusterSet,
                        Text<v1::UpdateClusterSetRequest>(absl::StrCat(
                            "allow_missing: true cluster_set { name: 'clusterSets/", id,
                            "' metadata { labels { key: 'l' value: '", label, "' } } }")),
                        &set),
              absl::OkStatus());
  }
  void RemoveSet(const std::string& id) {
    google::protobuf::Empty empty;
    ASSERT_EQ(
        hub_.Call(sets_.get(), &v1::ClusterSetService::Stub::DeleteClusterSet,
                  Text<v1::DeleteClusterSetRequest>(absl::StrCat("name: 'clusterSets/", id, "'")),
                  &empty),
        absl::OkStatus());
  }
  void AddCluster(const std::string& id) {
    v1::Cluster cluster;
    ASSERT_EQ(
        hub_.Call(clusters_.get(), &v1::ClusterService::Stub::CreateCluster,
                  Text<v1::CreateClusterRequest>(absl::StrCat("cluster_id: '", id, "'")), &cluster),
        absl::OkStatus());
  }

  ApiHarness hub_{Quick()};
  std::unique_ptr<v1::ClusterSetService::Stub> sets_ = hub_.Stub<v1::ClusterSetService>();
  std::unique_ptr<v1::ClusterService::Stub> clusters_ = hub_.Stub<v1::ClusterService>();
};

TEST_F(WatchTest, ItemsThenSyncedThenChanges) {
  AddSet("a");
  auto watch = Sets("");
  EXPECT_EQ(watch->Next(), "ITEM clusterSets/a");
  EXPECT_EQ(watch->last().resource_version(), "");
  EXPECT_EQ(watch->Next(), "ITEM clusterSets/default");
  EXPECT_EQ(watch->Next(), "SYNCED");
  EXPECT_NE(watch->last().resource_version(), "");
  AddSet("b");
  EXPECT_EQ(watch->Next(), "ITEM clusterSets/b");
  EXPECT_EQ(watch->last().cluster_set().metadata().labels().at("l"), "x");
  std::string uid = watch->last().cluster_set().metadata().uid();
  RemoveSet("b");
  EXPECT_EQ(watch->Next(), "DELETED clusterSets/b");
  EXPECT_EQ(watch->last().cluster_set().metadata().uid(), uid);
  EXPECT_FALSE(watch->last().cluster_set().has_spec());
}

TEST_F(WatchTest, WhatStopsMatchingIsDeleted) {
  AddSet("a", "x");
  AddSet("b", "y");
  auto watch = Sets("label_selector: 'l=x'");
  EXPECT_THAT(watch->ToSynced(), ElementsAre("ITEM clusterSets/a", "SYNCED"));
  AddSet("b", "x");
  EXPECT_EQ(watch->Next(), "ITEM clusterSets/b");
  AddSet("a", "y");
  EXPECT_EQ(watch->Next(), "DELETED clusterSets/a");
}

TEST_F(WatchTest, ResumeTellsWhatChangedMeanwhile) {
  AddSet("changed");
  AddSet("gone");
  AddSet("same");
  AddSet("stops", "y");
  std::string version;
  {
    auto watch = Sets("label_selector: 'l in (x,y)'");
    EXPECT_EQ(watch->ToSynced().size(), 5u);
    version = watch->last().resource_version();
  }
  AddSet("changed", "y");
  AddSet("new");
  RemoveSet("gone");
  AddSet("stops", "z");
  auto watch = Sets(absl::StrCat("label_selector: 'l in (x,y)' resource_version: '", version, "'"));
  EXPECT_THAT(watch->ToSynced(),
              testing::UnorderedElementsAre("ITEM clusterSets/changed", "ITEM clusterSets/new",
                                            "DELETED clusterSets/gone", "DELETED clusterSets/stops",
                                            "SYNCED"));
  // Nothing happened since: nothing is told again.
  auto quiet = Sets(absl::StrCat("label_selector: 'l in (x,y)' resource_version: '",
                                 watch->last().resource_version(), "'"));
  EXPECT_THAT(quiet->ToSynced(), ElementsAre("SYNCED"));
}

TEST_F(WatchTest, ARecordsOwnVersionResumesToo) {
  v1::ClusterSet set;
  AddSet("a");
  ASSERT_EQ(hub_.Call(sets_.get(), &v1::ClusterSetService::Stub::GetClusterSet,
                      Text<v1::GetClusterSetRequest>("name: 'clusterSets/a'"), &set),
            absl::OkStatus());
  AddSet("b");
  auto watch = Sets(absl::StrCat("resource_version: '", set.metadata().resource_version(), "'"));
  EXPECT_THAT(watch->ToSynced(), ElementsAre("ITEM clusterSets/b", "SYNCED"));
}

TEST_F(WatchTest, BadStartsAreRefused) {
  AddSet("a");
  uint64_t head = hub_.records().HeadRevision().value();
  AddSet("b");
  ASSERT_EQ(hub_.records().store()->Compact(hub_.records().HeadRevision().value()),
            absl::OkStatus());
  struct Case {
    std::string name, request, user, reason;
  };
  const Case cases[] = {
      {"compacted", absl::StrCat("resource_version: '", head, "'"), "admin", "REVISION_COMPACTED"},
      {"of another history", "resource_version: '999999'", "admin", "REVISION_COMPACTED"},
      {"not a version", "resource_version: 'x'", "admin", "INVALID_FIELD"},
      {"half a version", "resource_version: '5-1'", "admin", "INVALID_FIELD"},
      {"bad selector", "label_selector: '=='", "admin", "INVALID_FIELD"},
      {"stranger", "", "stranger", "UNAUTHENTICATED"},
  };
  for (const Case& c : cases) EXPECT_EQ(Sets(c.request, c.user)->Next(), c.reason) << c.name;
}

TEST_F(WatchTest, StatusIsWatchedAndResumed) {
  AddCluster("c");
  AddCluster("d");
  auto watch = Clusters("");
  EXPECT_EQ(watch->ToSynced().size(), 3u);
  std::string before = watch->last().resource_version();
  ClusterLive live;
  live.connected = true;
  live.agent_version = "1.2.3";
  hub_.SetLive(hub_.ClusterUid("c"), live);
  EXPECT_EQ(watch->Next(), "ITEM clusters/c");
  EXPECT_EQ(watch->last().cluster().status().agent_version(), "1.2.3");
  // What was reported is told to one who resumes from before it, and to nobody who has it.
  auto late = Clusters(absl::StrCat("resource_version: '", before, "'"));
  EXPECT_THAT(late->ToSynced(), ElementsAre("ITEM clusters/c", "SYNCED"));
  auto quiet = Clusters(absl::StrCat("resource_version: '", watch->last().resource_version(), "'"));
  EXPECT_THAT(quiet->ToSynced(), ElementsAre("SYNCED"));
  // Another hub process does not know what was told.
  size_t dash = before.find('-');
  auto other =
      Clusters(absl::StrCat("resource_version: '", before.substr(0, dash), "-1-00000000'"));
  EXPECT_EQ(other->ToSynced().size(), 3u);
}

TEST_F(WatchTest, NewRightsShowAndLostRightsHide) {
  AddCluster("c");
  auto watch = Clusters("", "setter");
  EXPECT_THAT(watch->ToSynced(), ElementsAre("SYNCED"));
  auto bindings = hub_.Stub<v1::RoleBindingService>();
  v1::RoleBinding binding;
  ASSERT_EQ(
      hub_.Call(bindings.get(), &v1::RoleBindingService::Stub::CreateRoleBinding,
                Text<v1::CreateRoleBindingRequest>("role_binding_id: 'b' role_binding { spec { "
                                                   "subjects: 'user:setter' role: ROLE_VIEWER } }"),
                &binding),
      absl::OkStatus());
  EXPECT_EQ(watch->Next(), "ITEM clusters/c");
  google::protobuf::Empty empty;
  ASSERT_EQ(hub_.Call(bindings.get(), &v1::RoleBindingService::Stub::DeleteRoleBinding,
                      Text<v1::DeleteRoleBindingRequest>("name: 'roleBindings/b'"), &empty),
            absl::OkStatus());
  EXPECT_EQ(watch->Next(), "DELETED clusters/c");
}

TEST_F(WatchTest, ASlowReaderIsToldSo) {
  auto watch = Clusters("");
  EXPECT_THAT(watch->ToSynced(), ElementsAre("SYNCED"));
  // Nobody reads while more records change than may wait.
  for (int i = 0; i < 8; ++i) AddCluster(absl::StrCat("c", i));
  std::string last;
  do last = watch->Next();
  while (last.rfind("ITEM", 0) == 0);
  EXPECT_EQ(last, "WATCH_TOO_SLOW");
}

TEST_F(WatchTest, DrainingEndsItAndRefusesNewOnes) {
  auto watch = Sets("");
  watch->ToSynced();
  hub_.services().Drain();
  EXPECT_EQ(watch->Next(), "DRAINING");
  EXPECT_EQ(Sets("")->Next(), "DRAINING");
}

TEST_F(WatchTest, EventsAndTokensComeFromTheStore) {
  auto events = hub_.Stub<v1::EventService>();
  auto tokens = hub_.Stub<v1::JoinTokenService>();
  auto start_events = [&](const std::string& request) {
    return std::make_unique<Reader<v1::WatchEventsResponse>>(
        "admin", [&](grpc::ClientContext* context) {
          return events->WatchEvents(context, Text<v1::WatchEventsRequest>(request));
        });
  };
  auto add = [&](const std::string& project) {
    ControlTxn txn;
    Event event;
    event.project = project;
    event.about = project.empty() ? "hub" : "bundles/web";
    event.reason = "Placed";
    txn.events.push_back(event);
    hub_.Write(std::move(txn));
  };
  add("default");
  auto watch = start_events("parent: 'projects/default'");
  EXPECT_EQ(watch->ToSynced().size(), 2u);
  std::string version = watch->last().resource_version();
  add("");
  add("default");
  EXPECT_EQ(watch->Next().rfind("ITEM projects/default/events/", 0), 0u);
  auto resumed =
      start_events(absl::StrCat("parent: 'projects/default' resource_version: '", version, "'"));
  EXPECT_EQ(resumed->ToSynced().size(), 2u);

  Reader<v1::WatchJoinTokensResponse> watch_tokens("admin", [&](grpc::ClientContext* context) {
    return tokens->WatchJoinTokens(context, v1::WatchJoinTokensRequest());
  });
  EXPECT_THAT(watch_tokens.ToSynced(), ElementsAre("SYNCED"));
  v1::CreateJoinTokenResponse made;
  ASSERT_EQ(hub_.Call(tokens.get(), &v1::JoinTokenService::Stub::CreateJoinToken,
                      v1::CreateJoinTokenRequest(), &made),
            absl::OkStatus());
  std::string name = made.join_token().name();
  EXPECT_EQ(watch_tokens.Next(), absl::StrCat("ITEM ", name));
  google::protobuf::Empty empty;
  v1::DeleteJoinTokenRequest remove;
  remove.set_name(name);
  ASSERT_EQ(hub_.Call(tokens.get(), &v1::JoinTokenService::Stub::DeleteJoinToken, remove, &empty),
            absl::OkStatus());
  EXPECT_EQ(watch_tokens.Next(), absl::StrCat("DELETED ", name));
}

TEST_F(WatchTest, BundlesOfOneProject) {
  auto bundles = hub_.Stub<v1::BundleService>();
  auto apply = [&](const std::string& label) {
    v1::Bundle bundle;
    ASSERT_EQ(hub_.Call(bundles.get(), &v1::BundleService::Stub::UpdateBundle,
                        Text<v1::UpdateBundleRequest>(absl::StrCat(
                            "allow_missing: true bundle { name: 'projects/default/bundles/web' "
                            "spec { allow_empty: true } "
                            "metadata { labels { key: 'l' value: '",
                            label, "' } } }")),
                        &bundle),
              absl::OkStatus());
  };
  auto start = [&](const std::string& request, const std::string& user) {
    return std::make_unique<Reader<v1::WatchBundlesResponse>>(
        user, [&](grpc::ClientContext* context) {
          return bundles->WatchBundles(context, Text<v1::WatchBundlesRequest>(request));
        });
  };
  EXPECT_EQ(start("parent: 'projects/default'", "nobody")->Next(), "PERMISSION_DENIED");
  EXPECT_EQ(start("", "admin")->Next(), "INVALID_FIELD");
  auto all = start("parent: 'projects/-'", "nobody");
  EXPECT_THAT(all->ToSynced(), ElementsAre("SYNCED"));
  auto watch = start("parent: 'projects/default'", "admin");
  EXPECT_THAT(watch->ToSynced(), ElementsAre("SYNCED"));
  apply("1");
  EXPECT_EQ(watch->Next(), "ITEM projects/default/bundles/web");
  apply("2");
  EXPECT_EQ(watch->Next(), "ITEM projects/default/bundles/web");
  EXPECT_EQ(watch->last().bundle().metadata().labels().at("l"), "2");
}

}  // namespace
}  // namespace nave
