// Goal: only known callers come in, only with the rights that their bindings give, and a refusal
// says what is missing.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "hub/auth/authenticate.h"
#include "hub/auth/authorize.h"

namespace nave {
namespace {

std::string Line(absl::string_view user, absl::string_view groups, absl::string_view token) {
  return absl::StrCat(user, "  ", groups, "\t", Sha256(token).Hex(), "\n");
}

TEST(TokenTable, Parses) {
  auto table = TokenTable::Parse(
      absl::StrCat("# tokens\n\n", Line("alice", "ops,dev", "t1"), Line("bob", "-", "t2")));
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_NE(table->Find("t1"), nullptr);
  EXPECT_EQ(table->Find("t1")->groups, (std::vector<std::string>{"ops", "dev"}));
  EXPECT_TRUE(table->Find("t2")->groups.empty());
  EXPECT_EQ(table->Find("t3"), nullptr);
  EXPECT_EQ(table->Find(""), nullptr);
}

TEST(TokenTable, RefusesAndNamesTheLine) {
  for (const std::string& text : {std::string("alice ops\n"), std::string("\nalice ops 1234\n"),
                                  absl::StrCat(Line("a", "-", "t"), Line("b", "-", "t"))}) {
    auto table = TokenTable::Parse(text);
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_EQ(ErrorReason(table.status()), "CONFIG_INVALID");
    EXPECT_NE(table.status().message().find("line "), absl::string_view::npos);
  }
}

TEST(TokenFile, FollowsTheFileAndKeepsWhatWasGood) {
  std::string folder = absl::StrCat(testing::TempDir(), "/tokens.XXXXXX");
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::string path = folder + "/tokens";
  auto write = [&](const std::string& text) {
    std::ofstream(path + ".new") << text;
    ASSERT_EQ(rename((path + ".new").c_str(), path.c_str()), 0);
  };
  EXPECT_EQ(ErrorReason(TokenFile::Open(path).status()), "CONFIG_INVALID");
  write(Line("alice", "-", "t1"));
  auto file = TokenFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_NE((*file)->Current()->Find("t1"), nullptr);
  write("broken\n");
  EXPECT_NE((*file)->Current()->Find("t1"), nullptr);
  EXPECT_EQ((*file)->failures(), 1u);
  write(Line("alice", "-", "t2"));
  EXPECT_EQ((*file)->Current()->Find("t1"), nullptr);
  EXPECT_NE((*file)->Current()->Find("t2"), nullptr);
  auto none = TokenFile::Open("");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ((*none)->Current()->size(), 0u);
}

Peer UserPeer() {
  Peer peer;
  peer.outcome = PeerOutcome::kVerified;
  peer.uri = {"hub-1", PeerKind::kUser, "alice"};
  return peer;
}

TEST(Authenticate, Outcomes) {
  TokenTable tokens = *TokenTable::Parse(Line("bob", "ops", "t1"));
  auto caller = Authenticate(UserPeer(), "hub-1", std::nullopt, tokens);
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->user, "alice");
  caller = Authenticate(Peer{}, "hub-1", absl::string_view("Bearer t1"), tokens);
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->user, "bob");
  EXPECT_EQ(caller->groups, std::vector<std::string>{"ops"});
  EXPECT_EQ(caller->via, Caller::Via::kToken);

  struct Case {
    const char* name;
    Peer peer;
    std::optional<absl::string_view> header;
    const char* reason;
  };
  Peer expired = UserPeer();
  expired.outcome = PeerOutcome::kExpired;
  Peer untrusted;
  untrusted.outcome = PeerOutcome::kUntrusted;
  Peer agent = UserPeer();
  agent.uri.kind = PeerKind::kCluster;
  Peer other_hub = UserPeer();
  other_hub.uri.hub_id = "hub-2";
  const Case kCases[] = {
      {"nothing", Peer{}, std::nullopt, "UNAUTHENTICATED"},
      {"bad token", Peer{}, "Bearer nope", "UNAUTHENTICATED"},
      {"empty token", Peer{}, "Bearer ", "UNAUTHENTICATED"},
      {"other scheme", Peer{}, "Basic t1", "UNAUTHENTICATED"},
      {"a bad token wins over a good certificate", UserPeer(), "Bearer nope", "UNAUTHENTICATED"},
      {"expired", expired, std::nullopt, "CERT_EXPIRED"},
      {"self-signed", untrusted, std::nullopt, "CERT_UNTRUSTED"},
      {"an agent's certificate", agent, std::nullopt, "CERT_UNTRUSTED"},
      {"of another hub", other_hub, std::nullopt, "CERT_UNTRUSTED"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    auto refused = Authenticate(c.peer, "hub-1", c.header, tokens);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(ErrorReason(refused.status()), c.reason);
  }
}

TEST(Rights, BindingsGrant) {
  RoleBinding shop_editor{"b1", {}, {"user:eve"}, Role::kEditor, "shop", ""};
  RoleBinding set_admin{"b2", {}, {"group:ops"}, Role::kAdmin, "", "eu"};
  RoleBinding hub_viewer{"b3", {}, {"user:vic"}, Role::kViewer, "", ""};
  std::vector<const RoleBinding*> bindings = {&shop_editor, &set_admin, &hub_viewer};
  struct Case {
    const char* name;
    Caller caller;
    Role role;
    Scope scope;
    bool may;
  };
  Caller eve{"eve", {}, Caller::Via::kToken, ""};
  Caller ops{"olga", {"ops"}, Caller::Via::kToken, ""};
  Caller vic{"vic", {}, Caller::Via::kToken, ""};
  Caller admin{"admin", {}, Caller::Via::kCertificate, ""};
  const Case kCases[] = {
      {"own project", eve, Role::kEditor, Scope::OfProject("shop"), true},
      {"lower role", eve, Role::kViewer, Scope::OfProject("shop"), true},
      {"higher role", eve, Role::kAdmin, Scope::OfProject("shop"), false},
      {"other project", eve, Role::kViewer, Scope::OfProject("bank"), false},
      {"a set of the same name", eve, Role::kViewer, Scope::OfClusterSet("shop"), false},
      {"hub", eve, Role::kViewer, Scope::Hub(), false},
      {"group", ops, Role::kAdmin, Scope::OfClusterSet("eu"), true},
      {"group elsewhere", ops, Role::kViewer, Scope::OfClusterSet("us"), false},
      {"hub viewer anywhere", vic, Role::kViewer, Scope::OfProject("bank"), true},
      {"hub viewer writes nothing", vic, Role::kEditor, Scope::OfProject("bank"), false},
      {"built in", admin, Role::kAdmin, Scope::Hub(), true},
      {"nobody", Caller{"x", {}, Caller::Via::kToken, ""}, Role::kViewer, Scope::OfProject("shop"),
       false},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Rights(c.caller, bindings).May(c.role, c.scope), c.may);
    EXPECT_EQ(Rights(c.caller, bindings).Check(c.role, c.scope, "look").ok(), c.may);
  }
  absl::Status refused =
      Rights(eve, bindings).Check(Role::kAdmin, Scope::OfClusterSet("eu"), "accept clusters");
  EXPECT_EQ(ErrorReason(refused), "PERMISSION_DENIED");
  EXPECT_EQ(refused.message(),
            "user \"eve\": to accept clusters one must be admin of cluster set \"eu\"; this user "
            "is editor of project "
            "\"shop\"");
}

}  // namespace
}  // namespace nave
