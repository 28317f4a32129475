/** What a Gemini refuses of a request in its own dialect, which is forwarded as the client wrote it. */
import { noFieldRules } from '../../core/dialects/field-rules.ts'
import type { FieldRule, FieldRules } from '../../core/dialects/field-rules.ts'
import type { Target } from '../../core/provider.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { budgetOfEffort, fittedEffort } from '../../../rules/efforts.ts'
import { geminiBudgets, geminiHostRules, knownGeminiThinking } from '../../../rules/gemini.ts'
import type { GeminiLevel, GeminiThinking } from '../../../rules/gemini.ts'
import { memoizePerTarget } from '../../core/target-cache.ts'
import { inRange } from './thinking.ts'

/** How much a model thinks is all that differs between models. Of a model that the table does not know all is sent. */
export const geminiFieldRules: (target: Target) => FieldRules = memoizePerTarget(({ model, provider }) => {
  const thinking = knownGeminiThinking(model)
  const host = Object.hasOwn(geminiHostRules, provider.name) ? geminiHostRules[provider.name] : undefined
  const ofHost = host && { withoutEmptyTurns: true as const }
  if (!thinking) return ofHost ? { ...noFieldRules, ...ofHost } : noFieldRules
  const rule = configRule(fittedBy(thinking))
  return {
    fields: new Map([
      ['generationConfig', rule],
      ['generation_config', rule],
    ]),
    ...ofHost,
  }
})

/** `thinkingConfig` as the client wrote it; each name has two spellings, and the client's is kept. */
interface RequestedThinking {
  readonly config: Json
  /** The client's names. */
  readonly levelName: string
  readonly budgetName: string
  readonly level: unknown
  readonly budget: unknown
}

/** undefined = it is sent as it is. */
type Fit = (requested: RequestedThinking) => FittedConfig | undefined

interface FittedConfig {
  /** Absent = none is sent. */
  readonly config?: Json
  /** What was asked for cannot be had: the member of `thinkingConfig`, or '' for all of it. */
  readonly lost?: string
}

function configRule(adapt: Fit): FieldRule {
  return config => {
    const [where, thinking] = memberOf(config, 'thinkingConfig', 'thinking_config')
    if (!isObject(thinking)) return 'keep'
    const [levelName, level] = memberOf(thinking, 'thinkingLevel', 'thinking_level')
    const isSnake = levelName === 'thinking_level' || where === 'thinking_config'
    const [budgetName, budget] = memberOf(thinking, 'thinkingBudget', 'thinking_budget', isSnake)
    const fitted = adapt({ config: thinking, levelName, budgetName, level, budget })
    if (!fitted) return 'keep'
    const { [where]: _, ...rest } = config as Json
    const value = fitted.config ? { ...rest, [where]: fitted.config } : rest
    const path = 'generationConfig.thinkingConfig'
    return { value, ...(fitted.lost !== undefined && { lost: fitted.lost ? `${path}.${fitted.lost}` : path }) }
  }
}

function fittedBy(thinking: GeminiThinking): Fit {
  if (thinking.by === 'nothing') return withoutConfig
  return thinking.by === 'level' ? byLevel(thinking) : byBudget(thinking)
}

/** A budget of 0 and thoughts that are not shown ask for what such a model does anyway. */
const withoutConfig: Fit = ({ config, level, budget }) => {
  const isShown = config.includeThoughts === true || config.include_thoughts === true
  const isNothing = budget === 0 || (level === undefined && budget === undefined && !isShown)
  return isNothing ? {} : { lost: '' }
}

function byLevel({ levels, canStop }: Extract<GeminiThinking, { by: 'level' }>): Fit {
  return ({ config, levelName, budgetName, level, budget }) => {
    if (budget === 0 && level === undefined && !canStop)
      return { config: replaced(config, budgetName, levelName, levels[0]!.toUpperCase()), lost: 'thinkingBudget' }
    if (typeof level !== 'string' || levels.includes(level.toLowerCase() as GeminiLevel)) return undefined
    const { effort } = fittedEffort(level.toLowerCase(), levels)
    // A word of no model: the upstream says what is wrong.
    return effort === undefined
      ? undefined
      : { config: { ...config, [levelName]: effort.toUpperCase() }, lost: 'thinkingLevel' }
  }
}

function byBudget(range: Extract<GeminiThinking, { by: 'budget' }>): Fit {
  return ({ config, levelName, budgetName, level, budget }) => {
    const ofLevel =
      typeof level === 'string' ? budgetOfEffort(level.toLowerCase(), geminiBudgets, range.max) : undefined
    const tokens = budget ?? ofLevel?.tokens
    // A word of no model: the upstream says what is wrong.
    if (typeof tokens !== 'number') return undefined
    const isOff = tokens === 0
    // Below 0 the model chooses.
    const fitting = tokens < 0 || (isOff && range.canStop) ? tokens : inRange(tokens, range)
    if (level === undefined && fitting === budget) return undefined
    const fitted = replaced(config, levelName, budgetName, fitting)
    if (budget != null) return { config: fitted, ...(fitting !== budget && { lost: 'thinkingBudget' }) }
    return { config: fitted, ...((ofLevel?.lost || fitting !== tokens) && { lost: 'thinkingLevel' }) }
  }
}

function replaced(config: Json, from: string, to: string, value: unknown): Json {
  const { [from]: _, ...rest } = config
  return { ...rest, [to]: value }
}

/** The name that the client wrote, else the one in camelCase, or in snake_case where `isSnake`. */
function memberOf(value: unknown, camel: string, snake: string, isSnake = false): [name: string, value: unknown] {
  const usual = isSnake ? snake : camel
  if (!isObject(value)) return [usual, undefined]
  const name = [camel, snake].find(one => value[one] != null) ?? usual
  return [name, value[name] ?? undefined]
}
