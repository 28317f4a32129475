/**
 * The names under which a model may stand in a price list, for the name that a configuration or an upstream uses. Only
 * marks of place, of version and of route are taken off: a name never stands for another model that begins like it.
 */

/** Marks of OpenRouter that choose among the hosts of a model (openrouter.ai/docs, "Model Variants", 2026-11). */
const routeMarks = /:(?:nitro|floor)$/

/**
 * The part of a model's name that a list has: in lower case, without the path of its resource (`models/`,
 * `publishers/google/models/`, `accounts/fireworks/models/`, the ARN of an inference profile) and without marks of
 * routes. A tuned model (`ft:gpt-4.1:org::id`) is priced by the row of its base (`ft:gpt-4.1`).
 */
export function listName(model: string): string {
  const name = model
    .trim()
    .toLowerCase()
    .replace(/^arn:[^/]*:(?:inference-profile|foundation-model)\//, '')
    .replace(/^(?:projects\/[^/]+\/locations\/[^/]+\/)?(?:publishers|accounts)\/[^/]+\/models\//, '')
    .replace(/^models\//, '')
    .replace(/^(?:converse|invoke)\//, '')
    .replace(routeMarks, '')
  const tuned = /^(ft:[^:]+):/.exec(name)
  return tuned ? tuned[1]! : name
}

/**
 * `name` and what else the same model may be called in a list, the closest first: a date written in the other way, a
 * version of Vertex AI (`@20251001`, `@default`) or of Bedrock (`:0`), a region before a model of Bedrock whose price
 * does not depend on it, then the name without its date or `-latest`.
 */
export function listNames(model: string): readonly string[] {
  const name = listName(model)
  const names = new Set([name])
  const vertex = name.replace(/@(?:default|latest)$/, '').replace(/@(\d{8}|\d{3})$/, '-$1')
  for (const one of [name, vertex, vertex.replace(/:0$/, ''), withoutRegion(vertex), withoutBedrockMarks(vertex)]) {
    for (const dated of [one, withDashedDate(one), withPlainDate(one)]) names.add(dated)
  }
  for (const one of [...names]) names.add(withoutDate(one).replace(/-latest$/, ''))
  return [...names]
}

/**
 * Inference across regions costs what it costs in the calling region (docs.aws.amazon.com/bedrock, "cross-region
 * inference", 2026-11), but for Anthropic's models, where a list must have the profile itself; `global.` is the base.
 */
function withoutRegion(name: string): string {
  const [, region, model] = /^(us|eu|apac|au|jp|ca|us-gov|global)\.(\w.*)$/.exec(name) ?? []
  return model !== undefined && (region === 'global' || !model.startsWith('anthropic.')) ? model : name
}

/** `anthropic.claude-sonnet-4-5-20250929-v1:0` as Bedrock's short name without date and version. */
function withoutBedrockMarks(name: string): string {
  return /(?:^|\.)anthropic\./.test(name) ? name.replace(/-v\d+(?::\d+)?$/, '') : name
}

/** `model-20250929` as `model-2025-09-29`. */
function withDashedDate(name: string): string {
  return name.replace(/-(20\d{2})(\d{2})(\d{2})(?=[-:]|$)/, (text, year: string, month: string, day: string) =>
    isDate(year, month, day) ? `-${year}-${month}-${day}` : text,
  )
}

/** `model-2025-09-29` as `model-20250929`. */
function withPlainDate(name: string): string {
  return name.replace(/-(20\d{2})-(\d{2})-(\d{2})(?=[-:]|$)/, (text, year: string, month: string, day: string) =>
    isDate(year, month, day) ? `-${year}${month}${day}` : text,
  )
}

/** Without a date at the end. */
function withoutDate(name: string): string {
  return name.replace(/-(20\d{2})-?(\d{2})-?(\d{2})$/, (text, year: string, month: string, day: string) =>
    isDate(year, month, day) ? '' : text,
  )
}

function isDate(year: string, month: string, day: string): boolean {
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${year}-${month}-${day}`)
}
