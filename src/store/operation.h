// Operations: what the writer runs. A bulk operation is a value whose kind is applied as a whole
// batch; a closure is a function over the transaction.
//
// A bulk operation `Op` names its answer (`using Reply = …;`) and has, beside it,
//     std::vector<Result<Op::Reply>> apply(store::Tx& tx, std::span<const Op> batch);
// that runs one array statement or a few and returns one result per operation, in order. A result
// that is an error means that this operation wrote nothing. Where a statement itself failed, the
// whole batch is undone and each operation applied alone, so one bad neighbour harms nobody. With
// `static constexpr bool kGoesFirst = true;` a kind is applied before others of its batch.
//
// Both run on a lane's thread, perhaps more than once before they are committed: they have no
// effect but on the transaction. One that writes for a partition has a `store::Fence fence() const`
// (a closure is wrapped: Fenced{fence, closure}); see store/guard.h. The callback runs once, on the
// lane's thread, after the commit (or the failure).
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/tx.h"

namespace quern::store {

class Operation;

struct OperationKind {
  bool bulk = false;        // else each operation stands alone
  bool goes_first = false;  // before the other kinds of its batch
  // Stores a result in each of them.
  void (*apply)(Tx& tx, std::span<Operation* const> operations) = nullptr;
};

class Operation {
 public:
  explicit Operation(const OperationKind& kind) : kind_(&kind) {}
  virtual ~Operation() = default;

  const OperationKind& kind() const { return *kind_; }
  // The error of its stored result, null where that is a success.
  virtual const Error* error() const = 0;
  virtual void fail(Error error) = 0;
  // Hands the stored result to the caller. Once.
  virtual void deliver() = 0;

  std::int64_t submitted_us = 0;  // monotonic; set by the lane
  Fence fence;                    // set when it is made
  bool alone = false;             // likewise: it has a transaction of its own

 private:
  const OperationKind* kind_;
};

template <class T>
using Done = std::function<void(Result<T>)>;

template <class Op>
concept BulkOp = requires(Tx& tx, std::span<const Op> batch) {
  typename Op::Reply;
  { apply(tx, batch) } -> std::same_as<std::vector<Result<typename Op::Reply>>>;
};

// The same error for every operation: for an apply() whose statement failed.
template <class Reply>
std::vector<Result<Reply>> fail_all(std::size_t count, const Error& error) {
  return std::vector<Result<Reply>>(count, Result<Reply>(error));
}

// A closure that writes for a row under its guard.
template <class Function>
struct Fenced {
  Fence at;
  Function function;

  Fence fence() const { return at; }
  auto operator()(Tx& tx) { return function(tx); }
};
template <class Function>
Fenced(Fence, Function) -> Fenced<Function>;

// A closure that changes rows which others of its batch might have locked: it runs alone. What the
// guard read at the start of a batch would be wrong after it.
template <class Function>
struct Alone {
  Function function;

  static constexpr bool kAlone = true;
  auto operator()(Tx& tx) { return function(tx); }
};
template <class Function>
Alone(Function) -> Alone<Function>;

namespace internal {

template <class Op>
constexpr bool is_alone() {
  if constexpr (requires { Op::kAlone; }) return Op::kAlone;
  return false;
}

template <class Op>
Fence fence_of(const Op& op) {
  if constexpr (requires { op.fence(); }) return op.fence();
  return {};
}

template <class T>
class Answering : public Operation {
 public:
  Answering(const OperationKind& kind, Done<T> done) : Operation(kind), done_(std::move(done)) {}

  const Error* error() const override { return result_.ok() ? nullptr : &result_.error(); }
  void fail(Error error) override { result_ = std::move(error); }
  void deliver() override { std::exchange(done_, nullptr)(std::move(result_)); }

 protected:
  Result<T> result_ = Error{Errc::Internal, "not run"};

 private:
  Done<T> done_;
};

template <BulkOp Op>
class BulkOperation final : public Answering<typename Op::Reply> {
 public:
  using Reply = typename Op::Reply;
  BulkOperation(Op op, Done<Reply> done)
      : Answering<Reply>(kKind, std::move(done)), op_(std::move(op)) {}

 private:
  static constexpr bool goes_first() {
    if constexpr (requires { Op::kGoesFirst; }) return Op::kGoesFirst;
    return false;
  }

  static void apply_batch(Tx& tx, std::span<Operation* const> operations) {
    std::vector<Op> batch;
    batch.reserve(operations.size());
    for (Operation* operation : operations) batch.push_back(std::move(self(operation).op_));
    std::vector<Result<Reply>> results = apply(tx, std::span<const Op>(batch));
    CHECK(results.size() == batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      self(operations[i]).op_ = std::move(batch[i]);  // it may have to run again
      self(operations[i]).result_ = std::move(results[i]);
    }
  }
  static BulkOperation& self(Operation* operation) {
    return static_cast<BulkOperation&>(*operation);
  }

  static constexpr OperationKind kKind{true, goes_first(), &BulkOperation::apply_batch};

  Op op_;
};

template <class T, class Function>
class Closure final : public Answering<T> {
 public:
  Closure(Function function, Done<T> done)
      : Answering<T>(kKind, std::move(done)), function_(std::move(function)) {}

 private:
  static void apply_one(Tx& tx, std::span<Operation* const> operations) {
    for (Operation* operation : operations) {
      auto& self = static_cast<Closure&>(*operation);
      self.result_ = self.function_(tx);
    }
  }
  static constexpr OperationKind kKind{false, false, &Closure::apply_one};

  Function function_;
};

}  // namespace internal

template <BulkOp Op>
std::unique_ptr<Operation> make_operation(Op op, Done<typename Op::Reply> done) {
  const Fence fence = internal::fence_of(op);
  auto operation = std::make_unique<internal::BulkOperation<Op>>(std::move(op), std::move(done));
  operation->fence = fence;
  return operation;
}

// The function takes a Tx& and returns a Result<T>.
template <class Function>
  requires std::invocable<Function&, Tx&>
auto make_operation(Function function,
                    Done<typename std::invoke_result_t<Function&, Tx&>::Value> done)
    -> std::unique_ptr<Operation> {
  using T = typename std::invoke_result_t<Function&, Tx&>::Value;
  const Fence fence = internal::fence_of(function);
  auto operation =
      std::make_unique<internal::Closure<T, Function>>(std::move(function), std::move(done));
  operation->fence = fence;
  operation->alone = internal::is_alone<Function>();
  return operation;
}

// What an operation or closure answers with.
template <class Op>
struct AnswerOf {
  using type = typename Op::Reply;
};
template <class Function>
  requires std::invocable<Function&, Tx&>
struct AnswerOf<Function> {
  using type = typename std::invoke_result_t<Function&, Tx&>::Value;
};
template <class Op>
using Answer = typename AnswerOf<Op>::type;

}  // namespace quern::store
