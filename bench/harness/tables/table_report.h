// What a table shows: ours beside the published figures, as text, as Markdown, as JSON, and its
// learning curves as pictures.
#ifndef PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLE_REPORT_H_
#define PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLE_REPORT_H_

#include <string>

#include "bench/harness/tables/table_result.h"
#include "formats/text/json.h"
#include "report/table.h"

namespace placewright {

std::string RenderTable(const StudyTable& table, const TableResult& result, const Style& style);
std::string MarkdownOf(const StudyTable& table, const TableResult& result);
Json JsonOf(const StudyTable& table, const TableResult& result);

// Of the model's learned methods: the mean step of each policy's samples that fit, over the samples, a curve for
// each seed; an SVG. "" where no run is there.
std::string DrawCurves(const StudyTable& table, const TableResult& result, size_t model);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_TABLES_TABLE_REPORT_H_
