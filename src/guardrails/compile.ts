/** Makes checks of settings: one line for each kind. */
import type { GuardrailSettings } from '../core/guardrails.ts'
import { GuardrailProblem } from './check.ts'
import type { JudgeClients, Check, CheckParts } from './check.ts'
import { answerSchema, textLength } from './kinds/forms.ts'
import { language } from './kinds/language.ts'
import { patternList, topicList, wordList } from './kinds/lists.ts'
import { guardModel, moderationModel } from './kinds/models.ts'
import { personalData } from './kinds/personal-data.ts'
import { promptInjection } from './kinds/prompt-injection.ts'
import { presidio, webhook } from './kinds/services.ts'
import { guardrailKeys } from './params.ts'
import type { GuardrailKind, GuardrailParams } from './params.ts'
import type { WindowSizes } from './window-filter.ts'

const kinds: Readonly<Record<GuardrailKind, (parts: CheckParts) => Check>> = {
  personal_data: personalData,
  secrets: personalData,
  'hide-secrets': personalData,
  words: wordList,
  topics: topicList,
  regex: patternList,
  prompt_injection: promptInjection,
  json_schema: answerSchema,
  language,
  length: textLength,
  guard_model: guardModel,
  moderation_model: moderationModel,
  openai_moderation: moderationModel,
  presidio,
  webhook,
  generic_guardrail_api: webhook,
}

/** Throws GuardrailProblem for what the kind cannot work with. */
export function compileCheck(parts: CheckParts): Check {
  const compile = kinds[parts.settings.kind as GuardrailKind]
  checkWindow(parts.settings)
  const check = compile(parts)
  if (!check.rules || !parts.settings.recordsOnly) return check
  return { ...check, rules: check.rules.map(rule => ({ ...rule, action: 'flag' as const })) }
}

const windowedKinds: ReadonlySet<string> = new Set<GuardrailKind>([
  ...(['guard_model', 'moderation_model', 'openai_moderation', 'presidio'] as const),
  ...(['webhook', 'generic_guardrail_api', 'topics'] as const),
])

/** Throws GuardrailProblem for windows of a kind that has no word about parts of an answer, and for odd sizes. */
function checkWindow({ kind, params }: GuardrailSettings): void {
  const { window_characters: characters, window_overlap: overlap, window_seconds: seconds } = params as GuardrailParams
  if (characters === undefined) {
    const name = overlap !== undefined ? 'window_overlap' : seconds !== undefined ? 'window_seconds' : undefined
    if (name) throw new GuardrailProblem([name], 'says nothing without window_characters; add it')
    return
  }
  if (!windowedKinds.has(kind))
    throw new GuardrailProblem(['window_characters'], `${kind} does not judge answers piece by piece; leave it out`)
  if ((overlap ?? 0) >= characters)
    throw new GuardrailProblem(['window_overlap'], 'must be smaller than window_characters')
}

/** How a guardrail judges streams; undefined = as a whole. */
export function windowOf({ params }: GuardrailSettings): WindowSizes | undefined {
  const {
    window_characters: characters,
    window_overlap: overlap,
    window_seconds: seconds = guardrailKeys.window_seconds.default,
  } = params as GuardrailParams
  if (characters === undefined) return undefined
  return { characters, overlap: overlap ?? Math.floor(characters / 5), waitMs: seconds * 1000 }
}

const noJudges: JudgeClients = {
  complete: () => Promise.reject(new Error('nothing is asked while settings are checked')),
  moderate: () => Promise.reject(new Error('nothing is asked while settings are checked')),
  post: () => Promise.reject(new Error('nothing is asked while settings are checked')),
}

/** What is wrong with a guardrail, inside of its parameters; undefined = nothing. */
export function guardrailProblem(settings: GuardrailSettings): GuardrailProblem | undefined {
  try {
    compileCheck({ settings, judges: noJudges, epochMs: () => 0 })
    return undefined
  } catch (error) {
    if (error instanceof GuardrailProblem) return error
    throw error
  }
}
