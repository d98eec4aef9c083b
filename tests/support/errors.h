#pragma once

#include <gtest/gtest.h>

#include <string>

/// Runs a statement and expects it to throw `Kind` with exactly this text.
#define EXPECT_ERROR(Kind, statement, text)                    \
  do {                                                         \
    bool thrown = false;                                       \
    try {                                                      \
      statement;                                               \
    } catch (const Kind& error) {                              \
      thrown = true;                                           \
      EXPECT_EQ(std::string(error.what()), std::string(text)); \
    }                                                          \
    EXPECT_TRUE(thrown) << #statement " did not throw " #Kind; \
  } while (false)
