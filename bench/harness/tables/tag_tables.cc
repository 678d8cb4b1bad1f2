#include "bench/harness/tables/tag_tables.h"

#include <string>
#include <utility>

#include "bench/harness/tables/table_parts.h"

namespace placewright {
namespace {

constexpr const char* kTestbed = "tag-testbed-measured";
constexpr int kSeeds = 3, kDecisiveSeeds = 5;  // of several models, and of one
constexpr int64_t kMoves = 1000;               // of searches over strategies
constexpr int64_t kFirstMoves = 200;           // where Table 7 stops
constexpr int64_t kUnseen = 1000;              // topologies that nothing was trained on begin here
constexpr int kTopologies = 20;                // of Table 7, for each model

enum TagModel : size_t {
  kOfInception,
  kOfResnet,
  kOfVgg,
  kOfTransformer,
  kOfBertSmall,
  kOfBertLarge
};

// In the order of the paper's tables; BERT-Large last.
std::vector<StudyModel> SixModels() {
  const auto model = [](const char* label, const char* graph) {
    StudyModel of;
    of.label = label;
    of.graph = graph;
    of.seeds = kSeeds;
    return of;
  };
  return {model("InceptionV3", "inception-v3@tag"),
          model("ResNet101", "resnet-101@tag"),
          model("VGG19", "vgg-19@tag"),
          model("Transformer", "transformer@tag"),
          model("BERT-Small", "bert-small@tag"),
          model("BERT-Large", "bert-large@tag")};
}
// Without BERT-Large, which data parallelism has no room for.
std::vector<StudyModel> FiveModels() {
  std::vector<StudyModel> models = SixModels();
  models.pop_back();
  return models;
}

StudyMethod Strategies(std::string label, std::string algorithm, int64_t moves = 0,
                       std::vector<std::string> settings = {}) {
  StudyMethod method;
  method.label = std::move(label);
  method.kind = StudyMethod::Kind::kStrategies;
  method.algorithm = std::move(algorithm);
  method.moves = moves;
  method.settings = std::move(settings);
  return method;
}
// One that the seed changes nothing of.
StudyMethod Once(StudyMethod method) {
  method.seeds = 1;
  return method;
}
StudyMethod For(double seconds, StudyMethod method) {
  method.seconds = seconds;
  return method;
}
// Strategies alone: without the forms of data parallelism that the program looks at beside them, and without factors.
const std::vector<std::string> kAlone = {"starts=off", "sfb=none"};
std::vector<std::string> AloneWith(std::vector<std::string> more) {
  more.insert(more.end(), kAlone.begin(), kAlone.end());
  return more;
}
StudyMethod Tag(std::string label, int64_t moves, std::string policy = "tag",
                std::vector<std::string> settings = kAlone) {
  StudyMethod method = Strategies(std::move(label), "tag", moves, std::move(settings));
  method.policy = std::move(policy);
  return method;
}
StudyMethod Learned(std::string label, std::string algorithm, int64_t samples,
                    std::vector<std::string> settings = {}) {
  StudyMethod method;
  method.label = std::move(label);
  method.algorithm = std::move(algorithm);
  method.settings = std::move(settings);
  method.own_samples = samples;
  return method;
}
StudyMethod Planner(std::string label, std::string algorithm, double seconds = 0) {
  StudyMethod method;
  method.label = std::move(label);
  method.kind = StudyMethod::Kind::kPlanner;
  method.algorithm = std::move(algorithm);
  method.seconds = seconds;
  return method;
}

StudyTable Table4() {
  StudyTable table = TableOf(
      "tag4", "TAG, Table 4: devices of an op on average, and how gradients are brought together",
      SixModels(), kTestbed);
  table.cells = StudyTable::Cells::kFigures;
  for (const auto& [label, figure] : {std::pair{"V100", "devices V100-32GB"},
                                      {"1080Ti", "devices GTX-1080Ti"},
                                      {"P100", "devices P100-12GB"},
                                      {"PS", "gradients parameter-server"},
                                      {"AR", "gradients all-reduce"}}) {
    StudyMethod method = Tag(label, kMoves);
    method.figure = figure;
    table.methods.push_back(method);
  }
  table.published = {
      {4, 8, 0, 1, 0},         {4, 8, 4, 0.67, 0.23},       {4, 2.1, 0, 1, 0},
      {4, 8, 0, 0.017, 0.983}, {3.9, 0.1, 0.1, 0.15, 0.85}, {0.6, 0.5, 0.1, 0.035, 0}};
  return table;
}

StudyTable Table5() {
  StudyTable table =
      TableOf("tag5", "TAG, Table 5: steps at batch 4 on two machines, without and with factors",
              SixModels(), "tag-two-1080ti-measured");
  for (StudyModel& model : table.models) model.batch = 4;
  const auto with = [](StudyMethod method, const char* mode) {
    method.label += std::string(", SFB (") + mode + ")";
    method.sfb = mode;
    return method;
  };
  const StudyMethod late = Once(Strategies("DP-NCCL", "data-parallel-late"));
  const StudyMethod tag = Tag("TAG", kFirstMoves);
  table.methods = {late, with(late, "paper"), with(late, "cut"),
                   tag,  with(tag, "paper"),  with(tag, "cut")};
  table.published = {
      {0.0898, 0.0452, {}, 0.0775, 0.0420, {}}, {0.1122, 0.0854, {}, 0.0508, 0.0490, {}},
      {0.1195, 0.1192, {}, 0.1167, 0.1169, {}}, {0.1199, 0.0455, {}, 0.0521, 0.0451, {}},
      {0.0618, 0.0546, {}, 0.0597, 0.0535, {}}, {0.4576, 0.4317, {}, 0.4331, 0.4266, {}}};
  enum Method : size_t { kLate, kLatePaper, kLateCut, kTag, kTagPaper, kTagCut };
  table.claims = {{"SFB gains DP (paper: from 0.3% to 163.5%)", Numbers(6), kLatePaper, kLate},
                  {"SFB gains TAG (paper: from -0.2% to 84.5%)", Numbers(6), kTagPaper, kTag},
                  {"cuts at several prices gain DP more than the paper's (exploratory)", Numbers(6),
                   kLateCut, kLatePaper}};
  return table;
}

StudyTable Table6() {
  StudyTable table =
      TableOf("tag6",
              "TAG, Table 6: how many ops of which type factors duplicate (paper: of "
              "all models together)",
              SixModels(), "tag-two-1080ti-measured");
  for (StudyModel& model : table.models) model.batch = 4;
  table.cells = StudyTable::Cells::kFigures;
  for (const auto& [label, type] :
       {std::pair{"aten.mm (MatMul: 336)", "aten.mm"},
        {"aten.convolution_backward (Conv2DBackpropFilter: 66)", "aten.convolution_backward"},
        {"aten.add (Add: 26)", "aten.add"}}) {
    StudyMethod method = Once(Strategies(label, "data-parallel-late"));
    method.sfb = "paper";
    method.figure = std::string("duplicated ") + type;
    table.methods.push_back(method);
  }
  return table;
}

StudyTable Table7() {
  enum Method : size_t {
    kBase,
    kUniform,
    kFloor,
    kUntrained,
    kEdgeless,
    kShuffled,
    kWithout,
    kFit,
    kTrained,
    kUniformPublished,
    kTrainedPublished
  };
  std::vector<StudyModel> models = FiveModels();
  for (StudyModel& model : models) {
    model.first_topology = kUnseen;
    model.seeds = kTopologies;
  }
  StudyTable table = TableOf("tag7",
                             "TAG, Table 7: moves to a strategy that is faster than data "
                             "parallelism, on 20 unseen topologies; 200 where there is none. Mean, "
                             "median, how many come to one",
                             std::move(models), "");
  table.cells = StudyTable::Cells::kMovesToFaster;
  // Data parallelism with overlap, which is harder to beat than the paper's; nothing else is looked at before.
  // As far as its space allows as published: no even part of priors, c of the authors' program, values as they are.
  const std::vector<std::string> published = {"even=0", "exploration=0", "first-play=zero",
                                              "scaled=off", "shares=even"};
  std::vector<std::string> uniform_published = published;
  uniform_published.emplace_back("prior=uniform");
  table.methods = {
      Strategies("DP", "data-parallel"),
      Strategies("uniform prior", "mcts", kFirstMoves, AloneWith({"prior=uniform"})),
      Strategies("floor prior", "mcts", kFirstMoves, kAlone),
      Tag("untrained", kFirstMoves, "none"),
      Tag("edges zero", kFirstMoves, "tag-edgeless"),
      Tag("devices shuffled", kFirstMoves, "tag-shuffled"),
      Tag("without the model", kFirstMoves, "tag-without-{model}"),
      Tag("fit alone", kFirstMoves, "tag-fit-0"),
      Tag("trained", kFirstMoves),
      Strategies("uniform, as published", "mcts", kFirstMoves, AloneWith(uniform_published)),
      Tag("trained, as published", kFirstMoves, "tag", AloneWith(published))};
  for (const double uniform : {66.0, 73.4, 56.6, 145.0, 97.8}) {
    auto& row = table.published.emplace_back(table.methods.size());
    row[kUniformPublished] = uniform;
  }
  const double trained[] = {9.5, 4.6, 17.7, 121.8, 7.9};
  for (size_t model = 0; model < table.published.size(); ++model) {
    table.published[model][kTrainedPublished] = trained[model];
  }
  const auto claim = [&](const char* text, size_t less, size_t more, double margin = 1) {
    table.claims.push_back(
        {text, Numbers(5), less, more, StudyClaim::Measure::kShown, margin, true});
  };
  claim("the trained prior needs less than a fifth of the uniform one's moves", kTrained, kUniform,
        0.2);
  claim("the trained prior needs fewer moves than the one of floors", kTrained, kFloor);
  claim("on a model never trained on it needs fewer than the uniform one", kWithout, kUniform);
  claim("as published, the trained prior needs less than a fifth of the uniform one's moves",
        kTrainedPublished, kUniformPublished, 0.2);
  claim("an untrained network needs fewer than the uniform prior (exploratory)", kUntrained,
        kUniform);
  claim("edges help (exploratory)", kFit, kEdgeless);
  claim("features of devices help (exploratory)", kFit, kShuffled);
  claim("games that follow the network help (exploratory)", kTrained, kFit);
  return table;
}

StudyTable Table8() {
  std::vector<StudyModel> models;
  for (const char* const cluster : {kTestbed, "tag-cloud"}) {
    for (StudyModel model : FiveModels()) {
      model.cluster = cluster;
      model.label += cluster == kTestbed ? ", testbed" : ", cloud";
      models.push_back(std::move(model));
    }
  }
  StudyTable table = TableOf(
      "tag8",
      "TAG, Table 8: how many times faster than DP-NCCL, trained with the model and without",
      std::move(models), "");
  table.cells = StudyTable::Cells::kTimesFaster;
  table.methods = {Once(Strategies("DP-NCCL", "data-parallel-late")),
                   Tag("TAG", kMoves),
                   Tag("TAG, fit alone", kMoves, "tag-fit-0"),
                   Tag("TAG-", kMoves, "tag-without-{model}"),
                   Strategies("mcts, floor prior", "mcts", kMoves, kAlone),
                   Once(Strategies("data-parallel-best", "data-parallel-best"))};
  table.published = {{1, 5.561, {}, 5.561, {}, {}}, {1, 1.077, {}, 1.071, {}, {}},
                     {1, 3.862, {}, 3.136, {}, {}}, {1, 1.803, {}, 1.803, {}, {}},
                     {1, 3.984, {}, 3.796, {}, {}}, {1, 2.177, {}, 2.177, {}, {}},
                     {1, 1.122, {}, 1.104, {}, {}}, {1, 1.436, {}, 1.436, {}, {}},
                     {1, 1.150, {}, 1.134, {}, {}}, {1, 1.845, {}, 1.845, {}, {}}};
  enum Method : size_t { kBase, kTag, kFit, kWithout, kFloor };
  const auto claim = [&](const char* text, size_t less, size_t more, double margin) {
    table.claims.push_back({text, Numbers(table.models.size()), less, more,
                            StudyClaim::Measure::kShown, margin, false});
  };
  claim("TAG is faster than DP-NCCL by more than 5%", kBase, kTag, 1 / 1.05);
  claim("a model never trained on loses less than 5%", kFit, kWithout, 1.05);
  claim("the floor prior does as well within 5% (exploratory)", kTag, kFloor, 1.05);
  return table;
}

StudyTable Figure5() {
  StudyTable table = TableOf("tagfig5", "TAG, Fig. 5: steps on the testbed", SixModels(), kTestbed);
  const auto once = [](const char* label, const char* algorithm) {
    return Once(Strategies(label, algorithm));
  };
  StudyMethod hdp = Learned("HDP", "hdp", 600);
  hdp.seeds = 1;
  table.methods = {once("DP-NCCL", "data-parallel-late"),
                   once("DP, overlapped", "data-parallel"),
                   once("DP-NCCL-P", "data-parallel-p"),
                   once("Horovod", "horovod"),
                   once("DP, servers", "data-parallel-ps"),
                   once("DP-best", "data-parallel-best"),
                   Strategies("FlexFlow (mcmc)", "mcmc", kMoves),
                   Strategies("HeteroG", "heterog", kMoves),
                   hdp,
                   Strategies("mcts, floor prior", "mcts", kMoves, kAlone),
                   Tag("TAG", kMoves),
                   Once(For(30, Strategies("layout-search, 30 s", "layout-search"))),
                   Once(For(30, Strategies("auto, 30 s", "auto")))};
  enum Method : size_t {
    kNccl,
    kEarly,
    kShares,
    kHorovod,
    kServers,
    kBest,
    kMcmc,
    kHeterog,
    kHdp,
    kMcts,
    kTag
  };
  const std::vector<size_t> five = {kOfInception, kOfResnet, kOfVgg, kOfTransformer, kOfBertSmall};
  table.claims = {{"TAG beats DP-NCCL (paper: 8%-456%)", five, kTag, kNccl},
                  {"TAG beats DP-NCCL-P (paper: 1%-391%)", five, kTag, kShares},
                  {"TAG beats Horovod (paper: 11%-381%)", five, kTag, kHorovod},
                  {"TAG beats HeteroG (paper: 4%-186%)", five, kTag, kHeterog},
                  {"TAG beats the floor prior's search (exploratory)", Numbers(6), kTag, kMcts}};
  return table;
}

StudyTable Figure6() {
  std::vector<StudyModel> models = {SixModels().front()};
  models.front().seeds = kDecisiveSeeds;
  StudyTable table =
      TableOf("tagfig6", "TAG, Fig. 6: InceptionV3 on two V100, times faster than all on one",
              std::move(models), "2xV100");
  table.cells = StudyTable::Cells::kTimesFaster;
  StudyMethod one;
  one.label = "expert: one GPU";
  one.kind = StudyMethod::Kind::kOneGpu;
  constexpr int64_t kSamples = 600;
  // An episode evaluates a placement for each part: ten episodes of as many parts as TAG has groups.
  table.methods = {one,
                   Learned("Placeto", "placeto", kSamples, {"parts=60"}),
                   Learned("GDP", "gdp", kSamples),
                   Learned("HDP", "hdp", kSamples),
                   Learned("Post", "post", kSamples),
                   Planner("Baechi (m-SCT)", "m-sct"),
                   Strategies("FlexFlow (mcmc)", "mcmc", kMoves),
                   Strategies("HeteroG", "heterog", kSamples),
                   Tag("TAG", kSamples)};
  enum Method : size_t { kOne, kPlaceto, kGdp, kHdp, kPost, kBaechi, kMcmc, kHeterog, kTag };
  const auto claim = [&](size_t other, const char* text) {
    table.claims.push_back({text, {0}, other, kTag, StudyClaim::Measure::kShown});
  };
  claim(kPlaceto, "TAG beats Placeto (paper: all by 3%-94%)");
  claim(kGdp, "TAG beats GDP");
  claim(kHdp, "TAG beats HDP");
  claim(kPost, "TAG beats Post");
  claim(kHeterog, "TAG beats HeteroG (exploratory)");
  claim(kMcmc, "TAG beats FlexFlow (exploratory)");
  return table;
}

StudyTable Figure7() {
  StudyModel games;
  games.label = "games on held-out topologies";
  games.seeds = kDecisiveSeeds;
  StudyTable table = TableOf(
      "tagfig7", "TAG, Fig. 7: the network's loss with and without runtime feedback", {games}, "");
  table.cells = StudyTable::Cells::kFigures;
  for (const auto& [label, policy] :
       {std::pair{"with feedback", "tag-fit-{seed}"}, {"without", "tag-fit-blind-{seed}"}}) {
    StudyMethod method;
    method.label = label;
    method.kind = StudyMethod::Kind::kFit;
    method.algorithm = "tag";
    method.policy = policy;
    method.figure = "held-out loss";
    table.methods.push_back(method);
  }
  table.claims = {{"feedback lowers the loss", {0}, 0, 1, StudyClaim::Measure::kShown}};
  return table;
}

StudyTable Figure8() {
  std::vector<StudyModel> models = FiveModels();
  for (StudyModel& model : models) model.first_topology = kUnseen;
  StudyTable table = TableOf("tagfig8", "TAG, Fig. 8: seconds to a plan on an unseen topology",
                             std::move(models), "");
  table.cells = StudyTable::Cells::kSecondsToPlan;
  StudyMethod hdp = Learned("HDP, on the machines", "hdp", 600);
  table.methods = {Tag("TAG", kFirstMoves), hdp,
                   Strategies("HeteroG, from scratch", "heterog", 600)};
  table.claims = {{"TAG takes an eighth of HDP's time", Numbers(5), 0, 1,
                   StudyClaim::Measure::kShown, 0.125, true},
                  {"TAG takes less than half of HeteroG's time", Numbers(5), 0, 2,
                   StudyClaim::Measure::kShown, 0.5, true}};
  return table;
}

// Of the searches' comparisons: half of them with more than 16 devices.
std::vector<StudyModel> Pairs() {
  std::vector<StudyModel> models;
  const auto add = [&](const char* graph, const char* cluster) {
    StudyModel model;
    model.label = std::string(graph) + ", " + cluster;
    model.graph = graph;
    model.cluster = cluster;
    model.seeds = kSeeds;
    models.push_back(std::move(model));
  };
  for (const StudyModel& model : SixModels()) {
    for (const char* const cluster : {"tag-testbed", "random:1000"}) {
      add(model.graph.c_str(), cluster);
    }
    add(model.graph.c_str(), "tag-cloud");
    add(model.graph.c_str(), "4x dgx-1");
  }
  return models;
}

// Whether a search over strategies pays beside the search over layouts, each with the same time, what is prepared counted.
StudyTable Gate(const std::string& name, const std::string& time, double seconds) {
  StudyTable table =
      TableOf(name, "TAG's search beside layout-search, " + time + " each", Pairs(), "");
  table.methods = {For(seconds, Strategies("layout-search", "layout-search")),
                   For(seconds, Strategies("mcts, floor prior", "mcts")),
                   For(seconds, Tag("TAG", 0, "tag", {}))};
  enum Method : size_t { kLayouts, kMcts, kTag };
  const std::vector<size_t> all = Numbers(table.models.size());
  const auto claim = [&](const char* text, size_t less, size_t more, double margin) {
    table.claims.push_back({text, all, less, more, StudyClaim::Measure::kBest, margin});
  };
  claim("TAG is ahead of layout-search by more than 5%", kTag, kLayouts, 1 / 1.05);
  claim("mcts is ahead of layout-search by more than 5%", kMcts, kLayouts, 1 / 1.05);
  claim("TAG is ahead of mcts (exploratory)", kTag, kMcts, 1);
  return table;
}

// In one space, and at equal evaluations: what the search itself is worth.
StudyTable EqualMoves() {
  StudyTable table =
      TableOf("tag-moves", "TAG's search beside a local search over the same units, 500 moves each",
              Pairs(), "");
  constexpr int64_t kEqual = 500;
  table.methods = {
      Strategies("layout-search, units alone", "layout-search", kEqual, {"moves=units"}),
      Strategies("mcts, uniform prior", "mcts", kEqual, AloneWith({"prior=uniform"})),
      Strategies("mcts, floor prior", "mcts", kEqual, kAlone), Tag("TAG", kEqual)};
  enum Method : size_t { kUnits, kUniform, kFloor, kTag };
  const std::vector<size_t> all = Numbers(table.models.size());
  table.claims = {{"mcts is ahead of a local search over units", all, kFloor, kUnits},
                  {"TAG is ahead of a local search over units", all, kTag, kUnits},
                  {"TAG is ahead of the uniform prior (exploratory)", all, kTag, kUniform}};
  return table;
}

}  // namespace

std::vector<StudyTable> TagTables() {
  return {Table4(),
          Table5(),
          Table6(),
          Table7(),
          Table8(),
          Figure5(),
          Figure6(),
          Figure7(),
          Figure8(),
          Gate("tag-500ms", "0.5 s", 0.5),
          Gate("tag-2s", "2 s", 2),
          Gate("tag-10s", "10 s", 10),
          Gate("tag-60s", "60 s", 60),
          EqualMoves()};
}

}  // namespace placewright
