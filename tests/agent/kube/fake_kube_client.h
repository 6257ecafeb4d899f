// A KubeClient that records requests and answers when the test says so.
#ifndef NAVE_TESTS_AGENT_KUBE_FAKE_KUBE_CLIENT_H_
#define NAVE_TESTS_AGENT_KUBE_FAKE_KUBE_CLIENT_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "agent/kube/kube_client.h"
#include "common/runtime/executor.h"

namespace nave {

class FakeKubeClient : public KubeClient {
 public:
  template <typename Request, typename Answer>
  struct Waiting {
    Request request;
    Callback<Answer> done;
  };
  struct OpenWatch {
    WatchRequest request;
    std::function<void(KubeEvent)> on_event;
    Callback<KubeError> on_end;
  };

  explicit FakeKubeClient(Executor& executor) : executor_(executor) {}

  // Requests that wait for their answer, oldest first.
  std::deque<Callback<Discovery>> discoveries;
  std::deque<Waiting<ListRequest, ListPage>> lists;
  int watches_begun = 0;
  // The newest watch that the caller has not dropped; null: none.
  OpenWatch* watch() { return watch_.get(); }

  void AnswerDiscovery(Discovery found) {
    Callback<Discovery> done = std::move(discoveries.front());
    discoveries.pop_front();
    executor_.Post([done = std::move(done), found = std::move(found)]() mutable {
      std::move(done)(std::move(found));
    });
  }
  void AnswerList(ListPage page) {
    Callback<ListPage> done = std::move(lists.front().done);
    lists.pop_front();
    executor_.Post([done = std::move(done), page = std::move(page)]() mutable {
      std::move(done)(std::move(page));
    });
  }
  void SendEvent(KubeEvent::Type type, Value object) {
    watch_->on_event(KubeEvent{type, std::move(object)});
  }
  void EndWatch(KubeError error) {
    // The callback drops the watch.
    const std::shared_ptr<OpenWatch> ended = watch_;
    std::move(ended->on_end)(std::move(error));
  }

  void Discover(Callback<Discovery> done) override { discoveries.push_back(std::move(done)); }
  void List(ListRequest request, Callback<ListPage> done) override {
    lists.push_back({std::move(request), std::move(done)});
  }
  std::unique_ptr<KubeWatch> Watch(WatchRequest request, std::function<void(KubeEvent)> on_event,
                                   Callback<KubeError> on_end) override {
    ++watches_begun;
    watch_ = std::make_shared<OpenWatch>(
        OpenWatch{std::move(request), std::move(on_event), std::move(on_end)});
    return std::make_unique<Handle>(this, watch_);
  }

  void GetServerVersion(Callback<KubeResult>) override {}
  void Apply(ApplyRequest, Callback<KubeResult>) override {}
  void Get(ResourceType, std::string, std::string, Callback<KubeResult>) override {}
  void Create(ResourceType, std::string, std::string, Callback<KubeResult>) override {}
  void Replace(ResourceType, std::string, std::string, std::string, Callback<KubeResult>) override {
  }
  void Patch(PatchRequest, Callback<KubeResult>) override {}
  void Delete(DeleteRequest, Callback<KubeResult>) override {}

 private:
  class Handle : public KubeWatch {
   public:
    Handle(FakeKubeClient* client, std::shared_ptr<OpenWatch> watch)
        : client_(client), watch_(std::move(watch)) {}
    ~Handle() override {
      if (client_->watch_ == watch_) client_->watch_.reset();
    }

   private:
    FakeKubeClient* client_;
    std::shared_ptr<OpenWatch> watch_;
  };

  Executor& executor_;
  std::shared_ptr<OpenWatch> watch_;
};

}  // namespace nave

#endif  // NAVE_TESTS_AGENT_KUBE_FAKE_KUBE_CLIENT_H_
