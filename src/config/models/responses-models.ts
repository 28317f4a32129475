/**
 * Models of OpenAI whose `/chat/completions` refuses some calls, or all of them, and whose `/responses` takes them.
 * `model_info.chat_api` overrides the table. Only OpenAI's own hosts follow it: others translate by themselves, or have
 * ended their chat completions.
 */
import { chatEnded } from '../../../rules/hosts.ts'
import type { ResponsesOnly } from '../../core/deployment.ts'

/** The part of `model_info` about the upstream's API. */
export interface DeclaredApi {
  readonly chat_api?: 'auto' | 'chat' | 'responses'
  readonly base_model?: string | undefined
}

interface Family {
  /** Matched against the last part of the model's name, in lower case. */
  readonly pattern: RegExp
  readonly only: ResponsesOnly
}

/**
 * The first match counts. Sources: the endpoints on developers.openai.com/api/docs/models/all (November 2026), and what
 * the API answers: 404 "This model is only supported in v1/responses and not in v1/chat/completions" for the first two
 * rows; 400 "Function tools with reasoning_effort are not supported for ... in /v1/chat/completions" for the others.
 */
const families: readonly Family[] = [
  { pattern: /^(?:o[13]-pro|gpt-[5-9](?:[.-]\d+)?-pro)(?:-|$)/, only: 'everything' },
  { pattern: /(?:^|-)codex(?:-|$)|-deep-research(?:-|$)|^computer-use-preview/, only: 'everything' },
  // Since 2026-09; their effort cannot be `none` for all of them.
  { pattern: /^gpt-[6-9](?:[.-]|$)(?!.*chat)/, only: 'tools' },
  // Since 2026-07; they reason by default.
  { pattern: /^gpt-5[.-](?:[6-9]|\d\d)(?:-|$)(?!.*chat)/, only: 'tools-unless-effort-none' },
  // Since 2026-03; their default effort is `none`.
  { pattern: /^gpt-5[.-][45](?:-|$)(?!.*chat)/, only: 'tools-with-effort' },
]

const vendors: ReadonlySet<string> = new Set(['openai', 'azure', 'azure_ai'])

interface NamedModel {
  /** The public name; it counts for Azure alone, where the upstream's name is the operator's own. */
  readonly modelName: string
  /** The name at the upstream. */
  readonly model: string
  readonly provider: string
}

/** undefined = chat completions take everything. */
export function responsesOnly(
  { modelName, model, provider }: NamedModel,
  { chat_api: api, base_model: base }: DeclaredApi,
): ResponsesOnly | undefined {
  if (api === 'responses') return 'everything'
  if (api === 'chat') return undefined
  if (chatEnded(provider)) return 'everything'
  if (!vendors.has(provider)) return undefined
  const names = base === undefined ? [model, ...(provider === 'azure' ? [modelName] : [])] : [base]
  for (const name of names) {
    const last = name.slice(name.lastIndexOf('/') + 1).toLowerCase()
    const family = families.find(({ pattern }) => pattern.test(last))
    if (family) return family.only
  }
  return undefined
}
