/** Makes checks of settings: one line for each kind. */
import type { GuardrailSettings } from '../core/guardrails.ts'
import { GuardrailProblem } from './check.ts'
import type { Askers, Check, CheckParts } from './check.ts'
import { answerSchema, textLength } from './kinds/forms.ts'
import { language } from './kinds/language.ts'
import { patternList, topicList, wordList } from './kinds/lists.ts'
import { guardModel, moderationModel } from './kinds/models.ts'
import { personalData } from './kinds/personal-data.ts'
import { promptInjection } from './kinds/prompt-injection.ts'
import { presidio, webhook } from './kinds/services.ts'
import type { GuardrailKind } from './params.ts'

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
  const check = compile(parts)
  if (!check.rules || !parts.settings.recordsOnly) return check
  return { ...check, rules: check.rules.map(rule => ({ ...rule, action: 'flag' as const })) }
}

const noAskers: Askers = {
  complete: () => Promise.reject(new Error('nothing is asked while settings are checked')),
  moderate: () => Promise.reject(new Error('nothing is asked while settings are checked')),
  post: () => Promise.reject(new Error('nothing is asked while settings are checked')),
}

/** What is wrong with a guardrail, inside of its parameters; undefined = nothing. */
export function guardrailProblem(settings: GuardrailSettings): GuardrailProblem | undefined {
  try {
    compileCheck({ settings, askers: noAskers, epochMs: () => 0 })
    return undefined
  } catch (error) {
    if (error instanceof GuardrailProblem) return error
    throw error
  }
}
