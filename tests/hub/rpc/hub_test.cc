// The hub's own service, and events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"
#include "nave/v1/cluster.grpc.pb.h"
#include "nave/v1/event.grpc.pb.h"
#include "nave/v1/hub.grpc.pb.h"
#include "nave/v1/join_token.grpc.pb.h"
#include "tests/hub/rpc/harness.h"

namespace nave {
namespace {

using testing::ElementsAre;

class HubTest : public testing::Test {
 protected:
  ApiHarness hub_;
  std::unique_ptr<v1::HubService::Stub> stub_ = hub_.Stub<v1::HubService>();
  std::unique_ptr<v1::EventService::Stub> events_ = hub_.Stub<v1::EventService>();
};

TEST_F(HubTest, SaysWhatItIs) {
  hub_.live()->NoteUnknown({Uuid::Random(), "lost", 4, "10.0.0.1", hub_.Now()});
  v1::Hub hub;
  ASSERT_EQ(hub_.Call(stub_.get(), &v1::HubService::Stub::GetHub, v1::GetHubRequest(), &hub),
            absl::OkStatus());
  EXPECT_EQ(hub.name(), "hub");
  EXPECT_EQ(hub.version(), "test");
  EXPECT_EQ(hub.hub_id(), hub_.Facts().hub_id);
  EXPECT_EQ(hub.term(), 1u);
  EXPECT_TRUE(hub.has_term_start_time());
  ASSERT_EQ(hub.unknown_clusters_size(), 1);
  EXPECT_EQ(hub.unknown_clusters(0).certificate_name(), "lost");
  ASSERT_EQ(
      hub_.Call(stub_.get(), &v1::HubService::Stub::GetHub, v1::GetHubRequest(), &hub, "nobody"),
      absl::OkStatus());
  EXPECT_EQ(hub.unknown_clusters_size(), 0);
  EXPECT_EQ(hub.term(), 0u);
}

TEST_F(HubTest, AdoptFollowsFromNowOnAndVoidsTokens) {
  auto tokens = hub_.Stub<v1::JoinTokenService>();
  v1::CreateJoinTokenResponse made;
  ASSERT_EQ(hub_.Call(tokens.get(), &v1::JoinTokenService::Stub::CreateJoinToken,
                      v1::CreateJoinTokenRequest(), &made),
            absl::OkStatus());
  Uuid one = Uuid::Random();
  Uuid two = Uuid::Random();
  hub_.live()->NoteUnknown({one, "lost", 1, "10.0.0.1", hub_.Now()});
  hub_.live()->NoteUnknown({two, "lost", 1, "10.0.0.2", hub_.Now()});
  auto adopt = [&](const std::string& text, v1::AdoptHubResponse* response) {
    return hub_.Call(stub_.get(), &v1::HubService::Stub::AdoptHub, Text<v1::AdoptHubRequest>(text),
                     response);
  };
  v1::AdoptHubResponse answer;
  EXPECT_EQ(ReasonOf(adopt("confirm: 'x'", &answer)), "CONFIRM_MISMATCH");
  ASSERT_EQ(adopt("accept_unknown: true validate_only: true", &answer), absl::OkStatus());
  EXPECT_EQ(answer.accepted_total(), 2u);
  EXPECT_TRUE(hub_.Snapshot()->names->clusters.empty());
  ASSERT_EQ(adopt("accept_unknown: true", &answer), absl::OkStatus());
  EXPECT_EQ(answer.accepted_size(), 2);
  EXPECT_EQ(hub_.Snapshot()->names->clusters.size(), 2u);
  EXPECT_TRUE(hub_.Snapshot()->Adopted(one));
  EXPECT_TRUE(hub_.Snapshot()->Adopted(two));
  v1::GetJoinTokenRequest get;
  get.set_name(made.join_token().name());
  v1::JoinToken token;
  ASSERT_EQ(hub_.Call(tokens.get(), &v1::JoinTokenService::Stub::GetJoinToken, get, &token),
            absl::OkStatus());
  EXPECT_EQ(token.status().state(), v1::JOIN_TOKEN_STATE_VOIDED);
}

TEST_F(HubTest, EventsAreListedByParentAndSubject) {
  ControlTxn txn;
  auto add = [&](const std::string& project, const std::string& about, const std::string& cluster) {
    Event event;
    event.project = project;
    event.about = about;
    event.cluster = cluster;
    event.reason = "Placed";
    txn.events.push_back(event);
  };
  add("default", "bundles/web", "");
  add("default", "bundles/web", "c1");
  add("other", "bundles/web", "");
  add("", "clusters/c1", "c1");
  add("", "hub", "");
  hub_.Write(std::move(txn));
  struct Case {
    std::string request;
    int count;
  };
  const Case cases[] = {
      {"parent: '-'", 5},
      {"parent: ''", 2},
      {"parent: 'projects/-'", 3},
      {"parent: 'projects/default'", 2},
      {"parent: '-' about: 'clusters/c1'", 2},
      {"parent: '-' about: 'hub'", 1},
      {"parent: 'projects/default' about: 'bundles/web'", 2},
  };
  for (const Case& c : cases) {
    int count = 0;
    auto request = Text<v1::ListEventsRequest>(c.request + " page_size: 2");
    do {
      v1::ListEventsResponse page;
      ASSERT_EQ(hub_.Call(events_.get(), &v1::EventService::Stub::ListEvents, request, &page),
                absl::OkStatus())
          << c.request;
      count += page.events_size();
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    EXPECT_EQ(count, c.count) << c.request;
  }
  v1::ListEventsResponse page;
  ASSERT_EQ(hub_.Call(events_.get(), &v1::EventService::Stub::ListEvents,
                      Text<v1::ListEventsRequest>("parent: '-'"), &page),
            absl::OkStatus());
  v1::GetEventRequest get;
  get.set_name(page.events(0).name());
  v1::Event event;
  ASSERT_EQ(hub_.Call(events_.get(), &v1::EventService::Stub::GetEvent, get, &event),
            absl::OkStatus());
  EXPECT_EQ(event.spec().reason(), "Placed");
  ASSERT_EQ(hub_.Call(events_.get(), &v1::EventService::Stub::ListEvents,
                      Text<v1::ListEventsRequest>("parent: '-'"), &page, "nobody"),
            absl::OkStatus());
  EXPECT_EQ(page.events_size(), 0);
}

}  // namespace
}  // namespace nave
