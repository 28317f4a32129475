/** How many breakpoints for a cache Claude's hosts take, and which of more are sent. */
import type { ChatRequest, Part } from '../../core/hub/chat.ts'

/**
 * Of one request (platform.claude.com, "Prompt caching": "up to 4 cache breakpoints"; the same on Bedrock, "Prompt
 * caching for faster model inference"; both 2026-11-28). More are refused.
 */
export const cacheMarksMax = 4

/** How many the client set. */
export function cacheMarksOf({ messages, tools = [] }: ChatRequest): number {
  let marks = 0
  for (const tool of tools) if (tool.cache) marks++
  for (const { parts } of messages) marks += marksIn(parts)
  return marks
}

function marksIn(parts: readonly Part[]): number {
  let marks = 0
  for (const part of parts) {
    if ('cache' in part && part.cache) marks++
    if (part.type === 'tool-result') marks += marksIn(part.parts)
  }
  return marks
}

/**
 * Those that are left out: all but the first, behind what stays longest, and the last ones, behind what the next call
 * begins with.
 */
export const superfluousMarks = <Mark>(marks: readonly Mark[]): readonly Mark[] =>
  marks.slice(1, Math.max(marks.length - cacheMarksMax + 1, 1))
