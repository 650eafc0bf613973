// Sums of products over named axes, as PyTorch's einsum: a composite of permute, reshape and matmul, two
// operands at a time from the left.
#include <array>

#include "ops/linalg.h"

namespace omnigrad {
namespace {

// A letter is a label of its own; the axes that an ellipsis stands for are labelled from the last backwards.
using Labels = SmallVec<int, 8>;
constexpr int kEllipsis = 128, kLabels = kEllipsis + kMaxRank;

bool has(const Labels& list, int label) { return std::find(list.begin(), list.end(), label) != list.end(); }

struct Equation {
  SmallVec<Labels, 4> inputs;
  Labels output;
  std::array<int64_t, kLabels> size{};  // of each label
  int64_t ellipsis = 0;                 // the most axes that one stands for

  Equation(const std::string& text, Inputs in) {
    const size_t arrow = text.find("->");
    const std::string left = text.substr(0, arrow);
    std::array<int, kLabels> count{};
    size_t begin = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      if (begin > left.size()) wrong(text, "has fewer terms than there are operands");
      const size_t end = std::min(left.find(',', begin), left.size());
      inputs.push_back(term(text, left.substr(begin, end - begin), in[i].rank()));
      begin = end + 1;
      measure(inputs.back(), in[i].shape());
      for (int label : inputs.back()) ++count[static_cast<size_t>(label)];
    }
    if (begin <= left.size()) wrong(text, "has more terms than there are operands");
    if (arrow != std::string::npos) {
      output = term(text, text.substr(arrow + 2), -1);
      for (size_t i = 0; i < output.size(); ++i) {
        const int label = output[i];
        if (has(Labels(output.begin(), output.begin() + i), label)) wrong(text, "names an output axis twice");
        if (count[static_cast<size_t>(label)] == 0) wrong(text, "names an output axis that no operand has");
      }
      return;
    }
    for (int64_t k = ellipsis; k-- > 0;) output.push_back(kEllipsis + static_cast<int>(k));
    for (int c = 'A'; c <= 'z'; ++c) {
      if (count[static_cast<size_t>(c)] == 1) output.push_back(c);
    }
  }

 private:
  [[noreturn]] static void wrong(const std::string& text, const char* what) {
    fail(Code::option, "equation '", text, "' ", what);
  }
  // rank: of the operand, or -1 for the output.
  Labels term(const std::string& text, const std::string& part, int64_t rank) {
    int64_t letters = 0, dots = 0;
    for (char c : part) {
      letters += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      dots += c == '.';
    }
    const int64_t covered = rank < 0 ? ellipsis : rank - letters;
    Labels labels;
    for (size_t i = 0; i < part.size(); ++i) {
      const char c = part[i];
      if (c == ' ') continue;
      if (c == '.') {
        if (dots != 3 || part.compare(i, 3, "...") != 0) wrong(text, "may have '...' once in a term");
        for (int64_t k = covered; k-- > 0;) labels.push_back(kEllipsis + static_cast<int>(k));
        i += 2;
      } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        labels.push_back(c);
      } else {
        wrong(text, "may have letters, '...', ',' and '->' only");
      }
    }
    if (rank >= 0 && (covered < 0 || (dots == 0 && covered != 0))) {
      fail("the term '", part, "' of the equation names ", letters, " axes, its operand has ", rank);
    }
    if (rank >= 0 && dots) ellipsis = std::max(ellipsis, covered);
    return labels;
  }
  void measure(const Labels& labels, const Dims& shape) {
    std::array<int64_t, kLabels> own{};
    std::fill(own.begin(), own.end(), -1);
    for (size_t k = 0; k < labels.size(); ++k) {
      const auto label = static_cast<size_t>(labels[k]);
      int64_t &known = size[label], &here = own[label];
      if (here >= 0 && here != shape[k])
        fail("an index repeated in one operand needs axes of one size, got ", here, " and ", shape[k]);
      here = shape[k];
      if (!seen_[label] || known == 1) {
        known = here;
      } else if (here != known && here != 1) {
        fail("an index has size ", known, " in one operand and ", here, " in another");
      }
      seen_[label] = true;
    }
  }
  std::array<bool, kLabels> seen_{};
};

struct Operand {
  Tensor x;
  Labels labels;
};

int64_t axis_of(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

// The diagonal over axes i < j of one size, at i.
Tensor diagonal_of(const Tensor& x, int64_t i, int64_t j) {
  const int64_t n = x.size(i);
  Dims order;
  for (int64_t k = 0; k < x.rank(); ++k) {
    if (k != i && k != j) order.push_back(k);
  }
  const Dims back_order = order;
  order.push_back(i);
  order.push_back(j);
  Tensor y = permute(x, order);
  Dims flat = linalg::leading(y.shape());
  flat.push_back(n * n);
  y = slice(reshape(y, flat), -1, 0, n * n, n + 1);
  Dims home;
  for (int64_t k = 0; k + 1 < x.rank(); ++k) home.push_back(k < i ? k : k == i ? x.rank() - 2 : k - 1);
  return permute(y, home);
}

// Each label once; what nobody else needs is summed.
void prepare(Operand& o, const Equation& e, const Labels& needed) {
  for (size_t j = o.labels.size(); j-- > 0;) {
    const int64_t i = axis_of(o.labels, o.labels[j]);
    if (i == static_cast<int64_t>(j)) continue;
    o.x = diagonal_of(o.x, i, static_cast<int64_t>(j));
    o.labels.erase(j);
  }
  Dims shape, summed;
  Labels kept;
  for (size_t i = 0; i < o.labels.size(); ++i) {
    const int label = o.labels[i];
    shape.push_back(e.size[static_cast<size_t>(label)]);
    if (has(needed, label)) {
      kept.push_back(label);
    } else {
      summed.push_back(static_cast<int64_t>(i));
    }
  }
  if (!(shape == o.x.shape())) o.x = expand(o.x, shape);
  if (!summed.empty()) o.x = sum(o.x, summed);
  o.labels = kept;
}

Tensor arranged(const Operand& o, const Labels& order, const Dims& shape) {
  Dims axes;
  for (int label : order) axes.push_back(axis_of(o.labels, label));
  return reshape(permute(o.x, axes), shape);
}

// One operand of two; labels that `later` lacks are summed where both have them.
Operand contract(const Operand& a, const Operand& b, const Equation& e, const Labels& later) {
  Labels both, left, right, summed, out;
  for (int label : a.labels) {
    (!has(b.labels, label) ? left : has(later, label) ? both : summed).push_back(label);
  }
  for (int label : b.labels) {
    if (!has(a.labels, label)) right.push_back(label);
  }
  const auto count = [&](const Labels& labels) {
    int64_t n = 1;
    for (int label : labels) n *= e.size[static_cast<size_t>(label)];
    return n;
  };
  const auto chain = [](Labels x, const Labels& y, const Labels& z) {
    x.append(y.begin(), y.end());
    x.append(z.begin(), z.end());
    return x;
  };
  const int64_t batch = count(both), m = count(left), n = count(right), k = count(summed);
  const Tensor x = arranged(a, chain(both, left, summed), {batch, m, k});
  const Tensor y = arranged(b, chain(both, summed, right), {batch, k, n});
  out = chain(both, left, right);
  Dims shape;
  for (int label : out) shape.push_back(e.size[static_cast<size_t>(label)]);
  return {reshape(k == 1 && summed.empty() ? x * y : matmul(x, y), shape), out};
}

struct Einsum {
  struct Options {
    std::string equation;
  };
  static constexpr Schema schema() {
    return op("einsum",
              "Sums of products: each operand's axes are named by letters, axes of one name are multiplied, "
              "names "
              "that the result lacks are summed. A name twice in one operand is its diagonal; '...' stands "
              "for axes that broadcast; without '->' the result has the names that occur once, sorted, after "
              "the axes of '...'.")
        .arg("equation", &Options::equation, "'bij,bjk->bik'")
        .in("operands", Kind::floating, "a tensor for each term of the equation; axes of size 1 broadcast")
        .variadic()
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in.empty()) fail(Code::argument, "needs at least one operand");
    const Equation e(o.equation, in);
    Dims shape;
    for (int label : e.output) shape.push_back(e.size[static_cast<size_t>(label)]);
    if (shape.size() > kMaxRank) fail("rank ", shape.size(), " is above the limit of ", kMaxRank);
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Equation e(o.equation, in);
    Operand total;
    for (size_t i = 0; i < in.size(); ++i) {
      Labels later = e.output;
      for (size_t k = i + 1; k < in.size(); ++k) later.append(e.inputs[k].begin(), e.inputs[k].end());
      Operand next{in[i], e.inputs[i]};
      Labels needed = later;
      needed.append(total.labels.begin(), total.labels.end());
      prepare(next, e, needed);
      total = i == 0 ? next : contract(total, next, e, later);
    }
    Dims shape;
    for (int label : e.output) shape.push_back(e.size[static_cast<size_t>(label)]);
    return {arranged(total, e.output, shape)};
  }
};
OMNIGRAD_OP(Einsum)

}  // namespace
}  // namespace omnigrad
