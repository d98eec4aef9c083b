#pragma once

#include <functional>
#include <string_view>

namespace steepest::bench {

/// Processor seconds that this machine spent on anything since it started, the host's theft
/// included, less `own`: what others used. From the text of /proc/stat; 0 if it does not read so.
double others_in(std::string_view proc_stat, double ticks_a_second, double own);

/// The same now, of this process. Only differences mean something. 0 where there is no /proc/stat.
double seconds_of_others();

int processors_here();

}  // namespace steepest::bench
