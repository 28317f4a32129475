/** Which Claude a name means, at Anthropic, on Bedrock and on Vertex AI (platform.claude.com/docs/en/about-claude/models). */

/** The first that is held to a schema ("Structured outputs"). */
export const firstWithSchema = 405
/** Claude that thinks, by a budget of tokens ("Extended thinking"). */
export const firstThinking = 307
/** Claude that can choose how long to think ("Adaptive thinking"). */
export const firstAdaptive = 406
/** From here on that is all it takes: budgets and sampling are refused. */
export const onlyAdaptive = 407
/** The first that calls tools. */
export const firstWithTools = 300

/**
 * `claude-3-5-sonnet-20241022` = 305, `claude-opus-4-1@20250805` = 401, `claude-2.1` = 200. A name without a readable
 * version is the newest.
 */
export function claudeVersion(model: string): number {
  if (/claude-(?:v\d|instant|\d(?:\.\d)?$)/.test(model)) return 200
  // A date has eight digits, a version at most two.
  const found =
    /claude-(\d)(?:[-.](\d{1,2}))?-[a-z]/.exec(model) ?? /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model)
  return found ? Number(found[1]) * 100 + Number(found[2] ?? 0) : Number.POSITIVE_INFINITY
}
