/** What is known about one model: declarations of the operator over built-in knowledge. */
import type { TokenLimits } from '../../core/provider.ts'
import type { Deployment, ModelMode, ModelProfile } from '../../core/deployment.ts'
import { capabilitiesOf, flags } from './capabilities.ts'
import type { Capabilities, Flag } from './capabilities.ts'
import { catalogueEntry } from '../prices/catalogue.ts'
import { placeOf } from '../prices/place-names.ts'
import { pricesInPlace } from '../prices/place-premiums.ts'
import { catalogPrices, resolvePrices } from '../prices/prices.ts'
import { splitModel } from '../../providers/index.ts'
import type { GivenPrices } from '../prices/prices.ts'
import { responsesOnly } from './responses-models.ts'
import type { DeclaredApi } from './responses-models.ts'
import { validatesSchemas, modelProfile } from './model-profile.ts'
import type { DeclaredAbilities } from './model-profile.ts'

/** `model_info` of the configuration, with the prices of `proxy_params`. */
interface DeclaredInfo extends DeclaredAbilities, DeclaredApi, GivenPrices {
  readonly mode?: ModelMode | undefined
  readonly base_model?: string | undefined
  readonly [other: string]: unknown
}

/** One model with its names. */
interface NamedModel {
  /** The public name. */
  readonly modelName: string
  /** The name at the upstream. */
  readonly model: string
  readonly provider: string
  /** Where its calls are computed, as of `placeOf`. */
  readonly place?: string | undefined
}

type Facts = Pick<Deployment, 'mode' | 'prices' | 'priceSource' | 'info' | 'validatesSchemas' | 'responsesOnly'> & {
  readonly profile: ModelProfile
}

/** null = unknown. */
const unknown = Object.freeze({
  context_window: null,
  max_input_tokens: null,
  max_output_tokens: null,
  supported_modalities: null,
  supported_output_modalities: null,
  ...Object.fromEntries(flags.map(flag => [flag, null])),
})

/**
 * For a pattern such as `vendor/*` only declarations count. `base_model` is the name to look up where the upstream has
 * a name of its own.
 */
export function modelFacts({ modelName, model, provider, place }: NamedModel, declared: DeclaredInfo): Facts {
  const profile = modelProfile(modelName, model, provider, declared)
  const abilities = {
    profile,
    responsesOnly: responsesOnly({ modelName, model, provider }, declared),
    ...(validatesSchemas(profile, provider, declared) && { validatesSchemas: true }),
  }
  const lookedUp = lookedUpModel(provider, declared.base_model ?? model, declared.base_model !== undefined)
  const pricedAs = (mode: ModelMode) => ({ mode, groundsPrompts: groundsPrompts(lookedUp) })
  if (lookedUp.model.includes('*')) {
    const mode = declared.mode ?? 'chat'
    return { mode, ...abilities, ...resolvePrices(declared, null, pricedAs(mode)), info: declared }
  }
  const { mode: familyMode, ...family } = capabilitiesOf(lookedUp.model)
  const { mode: listedMode, ...listed } = catalogueEntry(lookedUp.provider, lookedUp.model, place)?.capabilities ?? {}
  const mode = declared.mode ?? modeOf(listedMode, familyMode)
  const { context_window: window } = listed
  const known = {
    ...(window !== undefined && { max_input_tokens: window }),
    ...listed,
    ...family,
    ...pick(listed, listedFirst),
    ...declared,
  }
  return {
    mode,
    ...abilities,
    ...resolvePrices(declared, catalogPrices(lookedUp.provider, lookedUp.model, place), pricedAs(mode)),
    // The mode stays as declared: pipeline/lanes/attempt.ts refuses calls only because of a declared mode.
    info: { ...unknown, ...modalities(mode, known), ...known },
  }
}

/** What the list states model by model; the table of families is right about the other flags, which it has by hand. */
const listedFirst = [
  'context_window',
  'max_input_tokens',
  'max_output_tokens',
  'supports_vision',
  'supports_audio_input',
  'supports_audio_output',
  'supports_video_input',
  'supports_pdf_input',
] as const satisfies readonly (keyof Capabilities)[]

const pick = (from: Capabilities, names: readonly (keyof Capabilities)[]): Capabilities =>
  Object.fromEntries(names.flatMap(name => (from[name] === undefined ? [] : [[name, from[name]]])))

/** A model of a family that chats and makes images is one for chats: it answers both kinds of calls. */
function modeOf(listed: ModelMode | undefined, family: ModelMode | undefined): ModelMode {
  return (listed === 'image_generation' && family === 'chat' ? family : listed) ?? family ?? 'chat'
}

/** Gemini's searches are billed by the grounded prompt or by query (ai.google.dev/gemini-api/docs/pricing, 2026-11). */
const groundsPrompts = ({ provider, model }: { provider: string; model: string }): boolean =>
  (provider === 'gemini' || provider === 'vertex_ai') && model.includes('gemini')

/** `base_model` may name the vendor whose model it is: `azure/gpt-4o`, `openai/gpt-4o`. */
function lookedUpModel(provider: string, model: string, isDeclared: boolean): { provider: string; model: string } {
  const split = isDeclared ? splitModel(model) : { model }
  return split.provider === undefined || catalogueEntry(provider, model)
    ? { provider, model }
    : { provider: split.provider, model: split.model }
}

/** Derived from the flags; empty if they are unknown. */
function modalities(mode: ModelMode, known: Readonly<Record<string, unknown>>): Record<string, readonly string[]> {
  const has = (flag: Flag) => known[flag] === true
  const imageInput = has('supports_vision') ? ['image'] : []
  const audioInput = has('supports_audio_input') ? ['audio'] : []
  const input = ['text', ...imageInput, ...audioInput, ...(has('supports_video_input') ? ['video'] : [])]
  switch (mode) {
    case 'audio_transcription':
      return { supported_modalities: ['audio'], supported_output_modalities: ['text'] }
    case 'audio_speech':
      return { supported_modalities: ['text'], supported_output_modalities: ['audio'] }
    case 'image_generation':
      return { supported_modalities: ['text', ...imageInput], supported_output_modalities: ['image'] }
    case 'chat':
      if (typeof known.supports_vision !== 'boolean' && audioInput.length === 0) return {}
      return {
        supported_modalities: input,
        supported_output_modalities: [
          'text',
          ...(has('supports_image_output') ? ['image'] : []),
          ...(has('supports_audio_output') ? ['audio'] : []),
        ],
      }
    default:
      return { supported_modalities: ['text', ...imageInput] }
  }
}

/** What providers are told of a model's limits. */
export function tokenLimits(info: Deployment['info']): TokenLimits {
  const { max_output_tokens: output, context_window: window, max_input_tokens: input } = info
  const context = positive(window) ?? positive(input)
  return { ...(positive(output) && { output: positive(output) }), ...(context && { context }) }
}

const positive = (value: unknown): number | undefined => (typeof value === 'number' && value > 0 ? value : undefined)

/** A model matched by a pattern, with its own prices, abilities and profile. */
export function concreteModel(pattern: Deployment, modelName: string, model: string): Deployment {
  const { provider, options } = pattern.target
  const named = { modelName, model, provider: provider.name, place: placeOf(provider.name, options) }
  const facts = modelFacts(named, pattern.info as DeclaredInfo)
  const target = { ...pattern.target, model, limits: tokenLimits(facts.info) }
  return { ...pattern, ...facts, prices: pricesInPlace(facts, target), target }
}
