// Depth-first proof-number search over OpenSpiel's states (df-pn, Nagai 2002) with thresholds of 1 + epsilon (Pawlewicz
// and Lew 2007) and weak proof numbers (Ueda et al. 2008). `proof_numbers.py` calls the functions at the end through
// ctypes; they are the whole interface.
//
// 1. Two questions are asked about each node: does player 0 win, and does player 0 win or draw? A node stores the proof
//    and the disproof number of each. Values are player 0's.
// 2. A node is found by a 128-bit hash of its key, by the rule that `games.transpositions` has for the game. The key
//    contains the mover and the ply, so the graph of nodes has no cycles.
// 3. Nodes keep their children, so a visited node is expanded once. The stack is explicit: no function recurses.
// 4. A search that is continued after a limit expands the same nodes as one without the limit.
// 5. Only virtual and inline functions of OpenSpiel are called, so nothing is linked. A fatal error of a game is an
//    exception, which ends the search with `kFailed`.

#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "open_spiel/spiel.h"

// Failed checks in OpenSpiel's inline functions call this; those in its compiled functions throw by themselves.
[[noreturn]] void open_spiel::SpielFatalError(const std::string& message) { throw std::runtime_error(message); }

namespace {

using open_spiel::Action;
using open_spiel::State;
using Clock = std::chrono::steady_clock;

enum Rule { kHistory, kText, kObservation, kTurnOfThree, kSinceCapture, kCaptures, kFen };
enum Status { kFailed = -1, kProven = 0, kLimit = 1, kFull = 2 };

constexpr std::uint32_t kInfinity = 1u << 30;
constexpr std::uint32_t kNone = ~0u;
constexpr double kKept = 0.75;  // most that is kept of a full table, while the old one still exists
constexpr std::uint32_t kEnds = 3;  // the first nodes are the ends of games: lost, drawn and won by player 0

struct Node {
  std::uint64_t key[2];
  std::uint32_t proof[2];     // by question: player 0 wins, player 0 wins or draws
  std::uint32_t disproof[2];
  std::uint32_t edges;        // index of the first one
  std::uint16_t count;        // number of edges; 0 before the expansion
  std::uint8_t mover;
};

struct Edge {
  std::uint32_t node;
  std::int32_t action;
};

// An array that grows without moving its elements, in blocks that hold each run of elements whole.
template <typename T>
class Blocks {
 public:
  T& operator[](std::size_t i) { return blocks_[i >> kShift][i & (kSize - 1)]; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return blocks_.size() * kSize * sizeof(T); }

  std::size_t add(std::size_t count) {
    if (count > kSize) throw std::length_error("a state has too many actions");
    if ((size_ & (kSize - 1)) + count > kSize) size_ = blocks_.size() << kShift;
    while (size_ + count > blocks_.size() << kShift) blocks_.emplace_back(new T[kSize]);
    if (size_ + count > kNone) throw std::length_error("the table has too many entries");
    std::size_t first = size_;
    size_ += count;
    return first;
  }

 private:
  static constexpr int kShift = 14;
  static constexpr std::size_t kSize = std::size_t{1} << kShift;
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::size_t size_ = 0;
};

// A 128-bit hash of two lanes; each step is a bijection of the lane.
class Hash {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 2; ++i) {
      lanes_[i] = (lanes_[i] ^ word) * kFactors[i];
      lanes_[i] ^= lanes_[i] >> (29 + 3 * i);
    }
  }

  void add(const void* data, std::size_t size) {
    add(size);
    auto bytes = static_cast<const unsigned char*>(data);
    for (; size >= 8; size -= 8, bytes += 8) add(word_at(bytes, 8));
    if (size) add(word_at(bytes, size));
  }

  void finish(std::uint64_t key[2]) {
    for (int i = 0; i < 4; ++i) add(i);
    std::memcpy(key, lanes_, sizeof lanes_);
  }

 private:
  static std::uint64_t word_at(const unsigned char* bytes, std::size_t size) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, size);
    return word;
  }

  static constexpr std::uint64_t kFactors[2] = {0x9E3779B97F4A7C15u, 0xD6E8FEB86659FD93u};
  std::uint64_t lanes_[2] = {0x243F6A8885A308D3u, 0x13198A2E03707344u};
};
constexpr std::uint64_t Hash::kFactors[2];

std::uint32_t plus(std::uint32_t a, std::uint32_t b) { return a + b < kInfinity ? a + b : kInfinity; }

class Prover {
 public:
  Prover(int rule, int observation_size, double megabytes)
      : rule_(rule), observation_(observation_size), most_bytes_(megabytes * 1e6 / (1 + kKept)) {
    clear();
  }

  void start(const State& state) {
    stack_.clear();
    root_state_ = state.Clone();
    root_ = find_or_add(*root_state_);
  }

  Status run(double seconds, std::int64_t expansions) {
    auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::int64_t last = expansions < 0 ? INT64_MAX : expansions_ + expansions;
    Status status = search(end, last);
    for (auto frame = stack_.rbegin(); frame != stack_.rend(); ++frame) update(nodes_[frame->node]);
    return status;
  }

  Node& root() { return nodes_[root_]; }
  Node& node(std::uint32_t i) { return nodes_[i]; }
  Edge& edge(const Node& node, int i) { return edges_[node.edges + i]; }
  void key_of(const State& state, std::uint64_t key[2]);
  std::int64_t expansions() const { return expansions_; }
  std::int64_t states() const { return states_; }
  std::int64_t proven() const { return proven_; }
  std::int64_t kilobytes() const { return static_cast<std::int64_t>(bytes() / 1000); }

  static int lower(const Node& node) { return node.proof[0] == 0 ? 1 : node.proof[1] == 0 ? 0 : -1; }
  static int upper(const Node& node) { return node.disproof[1] == 0 ? -1 : node.disproof[0] == 0 ? 0 : 1; }
  static bool exact(const Node& node) { return lower(node) == upper(node); }

  int best_edge();

  std::string error;

 private:
  struct Frame {
    std::uint32_t node;
    std::uint32_t proof, disproof;  // thresholds
    std::unique_ptr<State> state;
  };

  void clear() {
    nodes_ = {};
    edges_ = {};
    slots_.assign(1 << 12, kNone);
    nodes_.add(kEnds);
    for (int value = -1; value <= 1; ++value) {
      Node& end = nodes_[value + 1];
      end = Node{};
      for (int q = 0; q < 2; ++q) {
        bool holds = value >= 1 - q;
        end.proof[q] = holds ? 0 : kInfinity;
        end.disproof[q] = holds ? kInfinity : 0;
      }
    }
  }

  std::size_t bytes() const { return nodes_.bytes() + edges_.bytes() + slots_.size() * sizeof slots_[0]; }

  Status search(Clock::time_point end, std::int64_t last);
  void expand(std::uint32_t index, const State& state);
  void update(Node& node);
  Frame child_of(const Frame& frame);
  bool collect();
  void copy_needed();
  std::uint32_t find_or_add(const State& state);
  void enter(std::uint32_t index);

  const int rule_;
  std::vector<float> observation_;
  const double most_bytes_;
  Blocks<Node> nodes_;
  Blocks<Edge> edges_;
  std::vector<std::uint32_t> slots_;
  std::vector<Frame> stack_;
  std::unique_ptr<State> root_state_;
  std::uint32_t root_ = 0;
  int question_ = 0;
  std::int64_t expansions_ = 0;
  std::int64_t states_ = 0;
  std::int64_t proven_ = 0;
};

// Keys: the rules of `games/facts/keys.py`.
void Prover::key_of(const State& state, std::uint64_t key[2]) {
  Hash hash;
  int rule = rule_;
  const auto& history = state.FullHistory();
  std::string text;
  if (rule == kObservation) {
    state.ObservationTensor(0, absl::MakeSpan(observation_));
    hash.add(observation_.data(), observation_.size() * sizeof(float));
  } else if (rule != kHistory) {
    text = state.ToString();
    if (rule == kFen) {  // the fifth field counts the plies since a capture or a pawn's move
      std::size_t at = 0;
      for (int i = 0; i < 4 && at != std::string::npos; ++i) at = text.find(' ', at + (i > 0));
      if (at == std::string::npos || text.compare(at, 3, " 0 ") != 0) rule = kHistory;
    }
  }
  if (rule == kHistory) {
    for (const auto& played : history) hash.add(played.action);
  } else if (rule != kObservation) {
    hash.add(text.data(), text.size());
    if (rule == kTurnOfThree) {
      if (state.MoveNumber() % 3) hash.add(history.back().action);
    } else if (rule == kSinceCapture || rule == kCaptures) {
      std::size_t quiet = 0;
      while (quiet < history.size() && history[history.size() - 1 - quiet].action % 2 == 0) ++quiet;
      if (rule == kSinceCapture) {
        for (std::size_t i = history.size() - quiet; i < history.size(); ++i) hash.add(history[i].action);
      } else {
        hash.add(quiet);
        if (!quiet) for (Action action : state.LegalActions()) hash.add(action);
      }
    }
  }
  hash.add(rule);
  hash.add(state.CurrentPlayer());
  hash.add(state.MoveNumber());
  hash.finish(key);
}

void Prover::enter(std::uint32_t index) {
  std::size_t mask = slots_.size() - 1, i = nodes_[index].key[0] & mask;
  while (slots_[i] != kNone) i = (i + 1) & mask;
  slots_[i] = index;
}

std::uint32_t Prover::find_or_add(const State& state) {
  ++states_;
  if (state.IsTerminal()) {
    double gain = state.PlayerReturn(0);
    return gain > 0 ? 2 : gain < 0 ? 0 : 1;
  }
  std::uint64_t key[2];
  key_of(state, key);
  std::size_t mask = slots_.size() - 1;
  for (std::size_t i = key[0] & mask; slots_[i] != kNone; i = (i + 1) & mask) {
    const Node& node = nodes_[slots_[i]];
    if (node.key[0] == key[0] && node.key[1] == key[1]) return slots_[i];
  }
  int mover = state.CurrentPlayer();
  if (mover != 0 && mover != 1) throw std::invalid_argument("player 0 or player 1 must be to move");
  auto choices = static_cast<std::uint32_t>(state.LegalActions().size());
  if (!choices) throw std::invalid_argument("a state that is not terminal has no legal action");
  auto index = static_cast<std::uint32_t>(nodes_.add(1));
  Node& node = nodes_[index];
  node = Node{};
  node.key[0] = key[0];
  node.key[1] = key[1];
  node.mover = static_cast<std::uint8_t>(mover);
  for (int q = 0; q < 2; ++q) {  // the player who needs all moves has as many to refute
    node.proof[q] = mover == 0 ? 1 : choices;
    node.disproof[q] = mover == 0 ? choices : 1;
  }
  if (2 * nodes_.size() > slots_.size()) {
    slots_.assign(2 * slots_.size(), kNone);
    for (std::uint32_t i = kEnds; i < nodes_.size(); ++i) enter(i);
  } else {
    enter(index);
  }
  return index;
}

void Prover::expand(std::uint32_t index, const State& state) {
  ++expansions_;
  std::vector<Edge> found;
  int mover = nodes_[index].mover;
  std::uint32_t won = mover == 0 ? 2 : 0;
  auto actions = state.LegalActions();
  found.reserve(actions.size());
  for (Action action : actions) {
    auto child = state.Clone();
    child->ApplyAction(action);
    Edge edge{find_or_add(*child), static_cast<std::int32_t>(action)};
    const Node& reached = nodes_[edge.node];
    if (edge.node == won || (mover == 0 ? reached.proof[0] : reached.disproof[1]) == 0) {
      found.assign(1, edge);  // a win makes the other moves irrelevant
      break;
    }
    found.push_back(edge);
  }
  if (found.size() > UINT16_MAX) throw std::length_error("a state has too many actions");
  auto first = edges_.add(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) edges_[first + i] = found[i];
  nodes_[index].edges = static_cast<std::uint32_t>(first);
  nodes_[index].count = static_cast<std::uint16_t>(found.size());
}

// Proof numbers from the children: the player who chooses needs one of them, the other player all. Weak numbers count
// the largest of the children and one for each other, since children share most of what is below them.
void Prover::update(Node& node) {
  if (!node.count) return;
  bool first = node.mover == 0;
  for (int q = 0; q < 2; ++q) {
    std::uint32_t one = kInfinity, all = 0, open = 0;
    for (int i = 0; i < node.count; ++i) {
      const Node& child = nodes_[edges_[node.edges + i].node];
      std::uint32_t needed = first ? child.proof[q] : child.disproof[q];
      std::uint32_t against = first ? child.disproof[q] : child.proof[q];
      if (needed < one) one = needed;
      if (against > all) all = against;
      open += against > 0;
    }
    if (open) all = plus(all, open - 1);
    node.proof[q] = first ? one : all;
    node.disproof[q] = first ? all : one;
  }
}

// The child to search next, with its thresholds: until it is no longer the best, or the node's own are reached.
Prover::Frame Prover::child_of(const Frame& frame) {
  const Node& node = nodes_[frame.node];
  bool first = node.mover == 0;
  int q = question_, best = 0;
  std::uint32_t least = kInfinity, second = kInfinity, open = 0;
  for (int i = 0; i < node.count; ++i) {
    const Node& child = nodes_[edges_[node.edges + i].node];
    std::uint32_t needed = first ? child.proof[q] : child.disproof[q];
    open += (first ? child.disproof[q] : child.proof[q]) > 0;
    if (needed < least) {
      second = least;
      least = needed;
      best = i;
    } else if (needed < second) {
      second = needed;
    }
  }
  const Edge& edge = edges_[node.edges + best];
  std::uint32_t one = plus(second, second / 4 + 1), limit = first ? frame.proof : frame.disproof;
  if (limit < one) one = limit;
  std::uint32_t all = (first ? frame.disproof : frame.proof) - (open - 1);
  auto state = frame.state->Clone();
  state->ApplyAction(edge.action);
  return {edge.node, first ? one : all, first ? all : one, std::move(state)};
}

Status Prover::search(Clock::time_point end, std::int64_t last) {
  while (true) {
    if (stack_.empty()) {
      Node& root = nodes_[root_];
      update(root);
      if (root_ < kEnds || (root.count && exact(root))) return kProven;
      auto open = [&](int q) { return root.proof[q] && root.disproof[q]; };
      auto effort = [&](int q) { return root.proof[q] < root.disproof[q] ? root.proof[q] : root.disproof[q]; };
      question_ = open(0) && (!open(1) || effort(0) <= effort(1)) ? 0 : 1;
      auto further = [](std::uint32_t number) { return plus(number, number + 1); };
      stack_.push_back(
          {root_, further(root.proof[question_]), further(root.disproof[question_]), root_state_->Clone()});
    }
    Frame& frame = stack_.back();
    if (!nodes_[frame.node].count) {
      if (expansions_ >= last || Clock::now() >= end) return kLimit;
      if (bytes() > most_bytes_ && !collect()) return kFull;
      expand(stack_.back().node, *stack_.back().state);
    }
    Node& node = nodes_[stack_.back().node];
    update(node);
    if (node.proof[question_] >= stack_.back().proof || node.disproof[question_] >= stack_.back().disproof ||
        !node.proof[question_] || !node.disproof[question_]) {
      proven_ += !node.proof[question_] || !node.disproof[question_];
      stack_.pop_back();
    } else {
      stack_.push_back(child_of(stack_.back()));
    }
  }
}

// Makes room: removes the nodes that cannot be reached from the root, those below proven nodes, and the children of
// nodes without grandchildren, which keep their numbers. Returns whether enough was removed.
bool Prover::collect() {
  for (std::size_t before = kNone; bytes() > kKept * most_bytes_;) {
    if (nodes_.size() > 0.95 * before) return false;
    before = nodes_.size();
    copy_needed();
  }
  return true;
}

void Prover::copy_needed() {
  Blocks<Node> nodes = std::move(nodes_);
  Blocks<Edge> edges = std::move(edges_);
  clear();
  std::vector<std::uint32_t> moved(nodes.size(), kNone);
  for (std::uint32_t i = 0; i < kEnds; ++i) moved[i] = i;
  std::vector<std::uint32_t> waiting;
  auto keep = [&](std::uint32_t old) {
    if (moved[old] == kNone) {
      moved[old] = static_cast<std::uint32_t>(nodes_.add(1));
      nodes_[moved[old]] = nodes[old];
      waiting.push_back(old);
    }
    return moved[old];
  };
  auto shallow = [&](const Node& node) {
    for (int i = 0; i < node.count; ++i) {
      if (nodes[edges[node.edges + i].node].count) return false;
    }
    return true;
  };
  root_ = keep(root_);
  for (Frame& frame : stack_) frame.node = keep(frame.node);
  std::size_t in_use = waiting.size();
  while (!waiting.empty()) {
    std::uint32_t old = waiting.back();
    waiting.pop_back();
    Node& node = nodes_[moved[old]];
    bool on_stack = moved[old] < kEnds + in_use;
    if (!on_stack && (exact(node) || shallow(node))) node.count = 0;
    if (!node.count) continue;
    auto first = edges_.add(node.count);
    for (int i = 0; i < node.count; ++i) {
      const Edge& edge = edges[nodes[old].edges + i];
      edges_[first + i] = {keep(edge.node), edge.action};
    }
    nodes_[moved[old]].edges = static_cast<std::uint32_t>(first);
  }
  std::size_t size = slots_.size();
  while (size < 2 * nodes_.size()) size *= 2;
  slots_.assign(size, kNone);
  for (std::uint32_t i = kEnds; i < nodes_.size(); ++i) enter(i);
}

// The edge of best play at the root, which is proven: the shortest proof for the winner, else the longest.
int Prover::best_edge() {
  constexpr std::uint16_t kUnknown = UINT16_MAX;
  std::vector<std::uint16_t> lengths(nodes_.size(), kUnknown);
  for (std::uint32_t i = 0; i < kEnds; ++i) lengths[i] = 0;
  std::vector<std::uint32_t> waiting{root_};
  int best = -1;
  while (!waiting.empty()) {
    std::uint32_t index = waiting.back();
    const Node& node = nodes_[index];
    int value = lower(node);
    bool won = value == (node.mover == 0 ? 1 : -1), open = false;
    int chosen = -1, length = 0;
    for (int i = 0; i < node.count; ++i) {
      std::uint32_t reached = edges_[node.edges + i].node;
      const Node& child = nodes_[reached];
      if (!exact(child) || lower(child) != value) continue;
      if (lengths[reached] == kUnknown) {
        waiting.push_back(reached);
        open = true;
      } else if (chosen < 0 || (won ? lengths[reached] < length : lengths[reached] > length)) {
        chosen = i;
        length = lengths[reached];
      }
    }
    if (open) continue;
    waiting.pop_back();
    lengths[index] = static_cast<std::uint16_t>(chosen < 0 || length >= kUnknown - 2 ? 0 : length + 1);
    if (index == root_) best = chosen;
  }
  return best;
}

template <typename F>
int guarded(Prover* prover, F&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    prover->error = error.what();
  } catch (...) {
    prover->error = "unknown error";
  }
  return kFailed;
}

}  // namespace

extern "C" {

const char* athenan_open_spiel() { return OPEN_SPIEL_VERSION; }

void* athenan_new(int rule, int observation_size, double megabytes) try {
  return new Prover(rule, observation_size, megabytes);
} catch (...) {
  return nullptr;
}

void athenan_delete(void* prover) { delete static_cast<Prover*>(prover); }

int athenan_start(void* handle, const void* state) {
  auto prover = static_cast<Prover*>(handle);
  return guarded(prover, [&] {
    prover->start(*static_cast<const State*>(state));
    return 0;
  });
}

int athenan_run(void* handle, double seconds, std::int64_t expansions) {
  auto prover = static_cast<Prover*>(handle);
  return guarded(prover, [&] { return static_cast<int>(prover->run(seconds, expansions)); });
}

const char* athenan_error(void* handle) { return static_cast<Prover*>(handle)->error.c_str(); }

// Writes the bounds of the root, its four numbers, the numbers of expansions and states, the number of its edges, the
// size of the table, and how many searches of a node answered their question.
void athenan_root(void* handle, std::int64_t* values) {
  auto prover = static_cast<Prover*>(handle);
  const Node& root = prover->root();
  std::int64_t found[] = {Prover::lower(root), Prover::upper(root), root.proof[0],          root.disproof[0],
                          root.proof[1],       root.disproof[1],    prover->expansions(),   prover->states(),
                          root.count,           prover->kilobytes(),  prover->proven()};
  std::memcpy(values, found, sizeof found);
}

// Writes action, bounds and the four numbers of each edge of the root.
void athenan_edges(void* handle, std::int64_t* values) {
  auto prover = static_cast<Prover*>(handle);
  const Node& root = prover->root();
  for (int i = 0; i < root.count; ++i) {
    const Edge& edge = prover->edge(root, i);
    const Node& child = prover->node(edge.node);
    *values++ = edge.action;
    *values++ = Prover::lower(child);
    *values++ = Prover::upper(child);
    for (int q = 0; q < 2; ++q) {
      *values++ = child.proof[q];
      *values++ = child.disproof[q];
    }
  }
}

int athenan_key(void* handle, const void* state, std::int64_t* values) {
  auto prover = static_cast<Prover*>(handle);
  return guarded(prover, [&] {
    std::uint64_t key[2];
    prover->key_of(*static_cast<const State*>(state), key);
    std::memcpy(values, key, sizeof key);
    return 0;
  });
}

int athenan_best_edge(void* handle) {
  auto prover = static_cast<Prover*>(handle);
  return guarded(prover, [&] { return prover->best_edge(); });
}
}
