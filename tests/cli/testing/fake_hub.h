// A hub in memory: keeps resources of every kind and answers their standard methods; verbs are
// given by the test.
#ifndef NAVE_TESTS_CLI_TESTING_FAKE_HUB_H_
#define NAVE_TESTS_CLI_TESTING_FAKE_HUB_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/client/hub_client.h"
#include "cli/resources/requests.h"

namespace nave::cli {

class FakeHub : public HubClient {
 public:
  using Message = google::protobuf::Message;

  // HubClient.
  absl::Status Call(const Message& request, Message* response) override;
  absl::Status Stream(const Message& request, absl::Time deadline, Message* response,
                      absl::FunctionRef<bool()> on_response) override;

  void Put(const Message& resource);
  void Remove(const std::string& name) { resources_.erase(name); }
  const Message* Find(const std::string& name) const;
  template <typename Resource>
  Resource Get(const std::string& name) const {
    const Message* found = Find(name);
    return found == nullptr ? Resource() : static_cast<const Resource&>(*found);
  }

  // Answers a method instead of the standard behaviour.
  template <typename Request, typename Response>
  void On(std::function<absl::StatusOr<Response>(const Request&)> answer) {
    answers_[Request::descriptor()->full_name()] = [answer](const Message& request,
                                                            Message* response) -> absl::Status {
      absl::StatusOr<Response> given = answer(static_cast<const Request&>(request));
      if (!given.ok()) return given.status();
      static_cast<Response*>(response)->CopyFrom(*given);
      return absl::OkStatus();
    };
  }
  // Every call fails so.
  void FailAll(absl::Status status) { failure_ = std::move(status); }
  // Called one after another when a stream has nothing more to send, so that a test can change what
  // there is; the stream then sends the difference. When none is left the stream ends with TIMEOUT.
  void Then(std::function<void()> change) { changes_.push_back(std::move(change)); }
  // The stream breaks once at that point, after the change.
  void ThenBreak(
      absl::Status status, std::function<void()> change = [] {});

  // Requests as short debug strings with the method before: "GetCluster name: \"clusters/a\"".
  const std::vector<std::string>& calls() const { return calls_; }
  // Those of one method.
  std::vector<std::string> CallsOf(const std::string& method) const;
  int pages_max = 2;  // Items of a page.

 private:
  absl::Status List(const Message& request, Message* response);
  absl::Status Update(const Message& request, Message* response);
  std::vector<std::string> NamesFor(const Message& request, const std::string& collection) const;

  std::map<std::string, MessagePtr> resources_;
  std::map<std::string, std::function<absl::Status(const Message&, Message*)>> answers_;
  std::vector<std::function<void()>> changes_;
  absl::Status failure_;
  absl::Status break_;
  std::vector<std::string> calls_;
  int etags_ = 0;
};

}  // namespace nave::cli

#endif  // NAVE_TESTS_CLI_TESTING_FAKE_HUB_H_
