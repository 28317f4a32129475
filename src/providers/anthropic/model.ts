/**
 * The version of Claude by a model's name, at Anthropic, on Bedrock and on Vertex AI
 * (platform.claude.com/docs/en/about-claude/models). Versions are numbers: 405 = 4.5.
 */

/** The first version with structured outputs (docs: "Structured outputs"). */
export const firstWithSchema = 405
/** The first version that thinks, with a budget of tokens (docs: "Extended thinking"). */
export const firstThinking = 307
/** The first version that can choose how long to think (docs: "Adaptive thinking"). */
export const firstAdaptive = 406
/** From this version on only adaptive thinking is allowed: budgets and sampling parameters are refused. */
export const onlyAdaptive = 407
/** The first version with tool use. */
export const firstWithTools = 300

/**
 * `claude-3-5-sonnet-20241022` = 305, `claude-opus-4-1@20250805` = 401, `claude-2.1` = 200. Infinity (the newest) for a
 * name without a readable version.
 */
export function claudeVersion(model: string): number {
  if (/claude-(?:v\d|instant|\d(?:\.\d)?$)/.test(model)) return 200
  // A version has at most two digits; eight are a date.
  const found =
    /claude-(\d)(?:[-.](\d{1,2}))?-[a-z]/.exec(model) ?? /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model)
  return found ? Number(found[1]) * 100 + Number(found[2] ?? 0) : Number.POSITIVE_INFINITY
}
