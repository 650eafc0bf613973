// The one binding: every op goes through `call`, whose arguments the schema describes, so that nothing here
// names an op. Integers and doubles cross; tensors are handles, numbers into a table that JavaScript adds to
// and releases from.
//
// Arguments and results lie in `scratch`, an array of doubles:
//   call     in:  for each input in schema order: a handle, 0 for an absent one, or -1 and a number that
//   takes the other
//                 inputs' dtype; a variadic input: a count, then handles. Then for each option in schema
//                 order: boolean 0 or 1; integer, number; a choice's index; dims: a count, then sizes;
//                 padding: 1 if pairs, a count, numbers; text: a count, then char codes; an optional option:
//                 0, or 1 and its value.
//            out: a count, then handles; 0 for an output that an option hides.
//            gives: the first of these, 0 if there is none, a negative status where it failed
//   create   in:  rank, sizes.   out: handle, address
//   meta     out: dtype, requiresGrad, isLeaf, rank, sizes
//   read     out: address of contiguous elements, bytes; valid until the next call
//   grad     in:  a count of ys, ys, their cotangents or 0, a count of xs, xs.   out: gradients or 0
//   customGrad   in: inputs, outputs, which become recorded; the callback reads cotangents from scratch (0:
//   none) and
//                leaves handles of gradients there (0: none), which pass to the core
//   checkpoint   in: inputs.   The callback, told whether it runs again, finds inputs as handles of its own
//   in scratch
//                and leaves a count and handles of outputs there, which pass to the core.   out: a count,
//                outputs
//   alias, detach, gradOf   give a handle, 0 if there is no gradient, a negative status where they failed
//   memoryStats  out: tensors, live bytes, cached bytes, peak bytes, bytes that tensors asked for, their
//   peak;
//                resetPeak() lets both peaks begin anew
//   stopProfile  out: address of doubles, how many entries; an entry: the op's number or -1, how many
//                entries it is inside of, 1 for a step of a backward pass, begin and end in microseconds,
//                bytes; valid until the next one
//
// Errors: a status, 0 for none, and the message from lastError(). C++ exceptions never leave; an error that a
// JavaScript callback throws passes through the C++ frames, destructors run, and arrives as itself.
#include <emscripten/bind.h>
#include <emscripten/emscripten.h>
#include <emscripten/val.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "build_id.h"
#include "error_bridge.h"
#include "handles.h"
#include "omnigrad/autograd.h"
#include "omnigrad/op.h"
#include "omnigrad/profile.h"
#include "parallel/parallel.h"
#include "tensor/pool.h"
#include "wire.h"

namespace omnigrad::binding {
namespace {

// Options of a call, made from defaults and freed with it.
class OptionsBox {
 public:
  explicit OptionsBox(const OpInfo& op) : op_(op), options_(op.copy_options(nullptr)) {}
  OptionsBox(const OptionsBox&) = delete;
  OptionsBox& operator=(const OptionsBox&) = delete;
  ~OptionsBox() { op_.free_options(options_); }
  void* get() const { return options_; }

 private:
  const OpInfo& op_;
  void* options_;
};

bool hidden(const OpInfo& op, const OptionsBox& options, size_t output) {
  const std::string& when = op.outputs[std::min(output, op.outputs.size() - 1)].when;
  if (when.empty()) return false;
  for (const OptionInfo& o : op.options) {
    if (o.name == when) return !std::get<bool>(o.get(options.get()));
  }
  return false;
}

// An error before the op's own dispatch (a disposed input, say) names the op too.
template <class F>
void naming(const OpInfo& op, const F& f) {
  try {
    f();
  } catch (Error& e) {
    if (e.op.empty()) {
      e.op = op.name;
      e.message = op.name + ": " + e.message;
    }
    throw;
  }
}

// One word is answer enough for an op of one output, which then need not read scratch.
int call_op(int index) {
  return answered([index] {
    int first = 0;
    const OpInfo& op = op_at(static_cast<size_t>(index));
    naming(op, [&op, &first] {
      Reader r;
      const TensorList inputs = read_inputs(op, r);
      OptionsBox options(op);
      for (const OptionInfo& o : op.options) o.set(options.get(), read_option(o, r));
      TensorList outputs = dispatch(op, options.get(), inputs);
      Writer w;
      w.put(static_cast<double>(outputs.size()));
      for (size_t i = 0; i < outputs.size(); ++i) {
        const int handle = hidden(op, options, i) ? 0 : add_handle(std::move(outputs[i]));
        if (i == 0) first = handle;
        w.put(handle);
      }
    });
    return first;
  });
}

int create(int dtype) {
  return guarded([dtype] {
    Reader r;
    Tensor t = Tensor::empty(r.dims(), static_cast<DType>(dtype));
    Writer w;
    const auto address = reinterpret_cast<uintptr_t>(t.raw());
    w.put(add_handle(std::move(t)));
    w.put(static_cast<double>(address));
  });
}

int meta(int handle) {
  return guarded([handle] {
    const Tensor& t = tensor_of(handle);
    Writer w;
    w.put(static_cast<double>(t.dtype()));
    w.put(t.requires_grad());
    w.put(t.is_leaf());
    w.put(static_cast<double>(t.rank()));
    for (int64_t d : t.shape()) w.put(static_cast<double>(d));
  });
}

int read(int handle) {
  return guarded([handle] {
    static Tensor copy;  // of what is not contiguous: alive until the next call
    copy = Tensor();
    const Tensor& t = tensor_of(handle);
    if (!t.is_contiguous()) copy = t.contiguous();
    const Tensor& dense = copy ? copy : t;
    Writer w;
    w.put(static_cast<double>(reinterpret_cast<uintptr_t>(dense.raw())));
    w.put(static_cast<double>(dense.numel()) * static_cast<double>(size_of(dense.dtype())));
  });
}

int alias_handle(int handle) {
  return answered([handle] { return add_handle(tensor_of(handle)); });
}
int detach(int handle) {
  return answered([handle] { return add_handle(tensor_of(handle).detach()); });
}

int set_requires_grad(int handle, bool on) {
  return guarded([=] { Tensor(tensor_of(handle)).set_requires_grad(on); });
}

int grad_of(int handle) {
  return answered([handle] {
    Tensor g = tensor_of(handle).grad();
    return g ? add_handle(std::move(g)) : 0;
  });
}

int set_grad(int handle, int grad_handle) {
  return guarded([=] { tensor_of(handle).set_grad(tensor_or_none(grad_handle)); });
}

int run_backward(int y, int gy, bool retain_graph, bool create_graph) {
  return guarded([=] {
    const Tensor output = tensor_of(y), cotangent = tensor_or_none(gy);
    backward(output, cotangent, {.retain_graph = retain_graph, .create_graph = create_graph});
  });
}

int run_grad(bool retain_graph, bool create_graph, bool allow_unused) {
  return guarded([=] {
    Reader r;
    TensorList y, gy, x;
    const size_t n = r.count();
    for (size_t i = 0; i < n; ++i) y.push_back(tensor_of(r.handle()));
    for (size_t i = 0; i < n; ++i) gy.push_back(tensor_or_none(r.handle()));
    for (size_t m = r.count(); m > 0; --m) x.push_back(tensor_of(r.handle()));
    TensorList grads = grad(
        y, x, gy, {.retain_graph = retain_graph, .create_graph = create_graph, .allow_unused = allow_unused});
    Writer w;
    for (Tensor& g : grads) w.put(g ? add_handle(std::move(g)) : 0);
  });
}

TensorList call_back(const emscripten::val& callback, Cotangents g, const TensorList& inputs,
                     const TensorList& outputs) {
  Writer w;
  for (const Tensor& t : g) w.put(t ? add_handle(t) : 0);
  for (const Tensor& t : inputs) w.put(add_handle(t));
  for (const Tensor& t : outputs) w.put(add_handle(t));
  callback();
  Reader r;
  TensorList grads;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int handle = r.handle();
    grads.push_back(tensor_or_none(handle));
    release_handle(handle);
  }
  return grads;
}

int custom_grad(int inputs, int outputs, emscripten::val callback) {
  return guarded([&] {
    Reader r;
    TensorList in, out;
    SmallVec<int, 2> places;
    for (int i = 0; i < inputs; ++i) in.push_back(tensor_of(r.handle()));
    for (int i = 0; i < outputs; ++i) {
      places.push_back(r.handle());
      out.push_back(tensor_of(places.back()));
    }
    auto shared = std::make_shared<emscripten::val>(std::move(callback));
    TensorList recorded =
        record_external(in, out, [shared](Cotangents g, const TensorList& inputs, const TensorList& outputs) {
          return call_back(*shared, g, inputs, outputs);
        });
    for (size_t i = 0; i < places.size(); ++i) slot_of(places[i]).tensor = recorded[i];
  });
}

int run_checkpoint(int inputs, emscripten::val callback) {
  return guarded([&] {
    Reader r;
    TensorList in;
    for (int i = 0; i < inputs; ++i) in.push_back(tensor_of(r.handle()));
    auto shared = std::make_shared<emscripten::val>(std::move(callback));
    TensorList out = checkpoint(
        [shared](const TensorList& x, bool again) {
          Writer w;
          for (const Tensor& t : x) w.put(add_handle(t));
          (*shared)(again);
          Reader results;
          TensorList y;
          for (size_t n = results.count(); n > 0; --n) {
            const int handle = results.handle();
            y.push_back(tensor_of(handle));
            release_handle(handle);
          }
          return y;
        },
        in);
    Writer w;
    w.put(static_cast<double>(out.size()));
    for (Tensor& t : out) w.put(add_handle(std::move(t)));
  });
}

void memory_stats() {
  const pool::Stats s = pool::stats();
  Writer w;
  w.put(static_cast<double>(live_tensors()));
  w.put(static_cast<double>(s.live));
  w.put(static_cast<double>(s.cached));
  w.put(static_cast<double>(s.peak));
  w.put(static_cast<double>(s.tensors));
  w.put(static_cast<double>(s.tensors_peak));
}

std::vector<double> profile_rows;

int stop_profile() {
  return guarded([] {
    const std::vector<profile::Entry> entries = profile::stop();
    profile_rows.clear();
    profile_rows.reserve(6 * entries.size());
    for (const profile::Entry& e : entries) {
      const double row[] = {
          e.op ? op_index(e.op->name) : -1., static_cast<double>(e.depth), e.vjp ? 1. : 0., e.begin, e.end,
          static_cast<double>(e.bytes)};
      profile_rows.insert(profile_rows.end(), std::begin(row), std::end(row));
    }
    Writer w;
    w.put(static_cast<double>(reinterpret_cast<uintptr_t>(profile_rows.data())));
    w.put(static_cast<double>(entries.size()));
  });
}

// Whose bits are the same in every engine, unlike Math's. The order is runtime.ts'.
double math(int function, double x, double y) {
  switch (function) {
    case 0:
      return std::exp(x);
    case 1:
      return std::log(x);
    case 2:
      return std::sin(x);
    case 3:
      return std::cos(x);
    case 4:
      return std::tan(x);
    case 5:
      return std::tanh(x);
    default:
      return std::pow(x, y);
  }
}

}  // namespace
}  // namespace omnigrad::binding

// What every op pays for: plain exports, since Embind's way into a function costs a third of a small op.
extern "C" {
EMSCRIPTEN_KEEPALIVE int omnigrad_call(int op) { return omnigrad::binding::call_op(op); }
EMSCRIPTEN_KEEPALIVE void omnigrad_release(int handle) { omnigrad::binding::release_handle(handle); }
// For pthread_entry.js, in a worker that has trapped.
EMSCRIPTEN_KEEPALIVE void omnigrad_lose_worker() { omnigrad::parallel::lose_this_worker(); }
}

EMSCRIPTEN_BINDINGS(omnigrad) {
  using namespace omnigrad;
  using namespace omnigrad::binding;
  using emscripten::function;
  function("schemaJson", +[] { return schema_json(); });
  function("opJson", +[](int op) { return schema_json(op_at(static_cast<size_t>(op))); });
  function("opIndex", +[](const std::string& name) { return op_index(name); });
  function("buildId", +[] { return std::string(build_id()); });
  function("lastError", +[] { return last_error; });
  function("scratch", +[] { return reinterpret_cast<uintptr_t>(scratch_area); });
  function("scratchSize", +[] { return kScratch; });
  function("create", &create);
  function("meta", &meta);
  function("read", &read);
  function("alias", &alias_handle);
  function("detach", &detach);
  function("setRequiresGrad", &set_requires_grad);
  function("gradOf", &grad_of);
  function("setGrad", &set_grad);
  function("backward", &run_backward);
  function("grad", &run_grad);
  function("setGradMode", &set_grad_enabled);
  function("customGrad", &custom_grad);
  function("checkpoint", &run_checkpoint);
  function("setAnomalyDetection", &set_anomaly_detection);
  function("memoryStats", &memory_stats);
  function("resetPeak", &pool::reset_peak);
  function("startProfile", &profile::start);
  function("stopProfile", &stop_profile);
  function("setThreads", +[](int n) { parallel::start(n); });
  function("setDeterministic", &parallel::set_deterministic);
  function("threads", &parallel::threads);
  function("math", &math);
}
