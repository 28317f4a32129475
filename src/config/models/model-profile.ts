/**
 * What a model supports natively: declared in `model_info`, derived from its name, or everything. A name counts only if
 * it is unambiguous, because a wrong guess would disable features of a capable model.
 */
import { hostRule } from '../../../rules/hosts.ts'
import { nativeProfile } from '../../core/deployment.ts'
import type { ModelProfile } from '../../core/deployment.ts'

/** The part of `model_info` about abilities. */
export interface DeclaredAbilities {
  readonly tool_calling?: 'auto' | 'native' | 'forced_only' | 'prompted' | 'after_think' | 'none'
  readonly thinking?: 'separate' | 'tags' | 'tags_open'
  readonly alternate_roles?: boolean | null
  readonly structured_output?: 'native' | 'json_object' | 'none'
  readonly guard?: boolean | null
}

interface Family {
  /** Matched against the last part of the model's name, without the organisation. */
  readonly pattern: RegExp
  readonly profile: Partial<ModelProfile>
}

/** Model families that differ from the default. All other models are treated as native. */
const families: readonly Family[] = [
  // `...-v4-27b-it`: version 4 exactly, 27B exactly, instruction-tuned.
  {
    pattern: /(?:^|[-_])v4[-_]27b[-_](?:it|instruct)$/i,
    profile: { toolCalling: 'forced-only', alternateRoles: true },
  },
  // `...-v3.5-70b-R`: a version, a size, and a capital R at the end. Does not match `command-r` and `deepseek-r1`.
  { pattern: /(?:^|[-_])[vV]\d+(?:\.\d+)?[-_]\d+[bB]-R$/, profile: { toolCalling: 'after-think', thinking: 'tags' } },
  // `guard` as a word. Excludes Llama Guard, which judges conversations, and `safeguard` and `guardian`, which take
  // system prompts.
  { pattern: /^(?!.*llama[-_]?guard)(?:.*[-_.])?guard(?:[-_.].*)?$/i, profile: { guard: true, toolCalling: 'none' } },
]

/** Providers that only host models of one vendor; the families above do not apply to them. */
const singleVendorProviders: ReadonlySet<string> = new Set([
  'openai',
  'azure',
  'anthropic',
  'gemini',
  'vertex_ai',
  'mistral',
  'cohere',
  'deepseek',
  'xai',
  'perplexity',
  'moonshot',
  'zai',
  'minimax',
  'ai21_chat',
  'inception',
  'stepfun',
  'upstage',
  'local',
])

/**
 * Providers whose documentation guarantees that an answer conforms to the schema, or that the call is refused. Behind
 * other addresses the software and its settings are unknown.
 */
const schemaEnforcingProviders: ReadonlySet<string> = new Set([
  'openai',
  'azure',
  'anthropic',
  'gemini',
  'vertex_ai',
  'mistral',
  'cohere',
  'xai',
  'groq',
  'cerebras',
  'fireworks_ai',
])

/**
 * Whether answers to schemas are checked: schemas are sent unchanged, and the provider does not guarantee conformance.
 */
export function validatesSchemas(profile: ModelProfile, provider: string, info: DeclaredAbilities = {}): boolean {
  return (
    profile.structuredOutput === 'native' &&
    info.structured_output === undefined &&
    !schemaEnforcingProviders.has(provider)
  )
}

/** A host that is known to refuse schemas is sent the schema in the prompt. */
const schemaSupport = (provider: string, model: string): ModelProfile['structuredOutput'] =>
  hostRule(provider, model)?.schemas === false ? 'json-object' : 'native'

const lastPart = (model: string): string => model.slice(model.lastIndexOf('/') + 1)

/** The upstream's name has precedence over the public name, which the operator may choose freely. */
export function modelProfile(
  modelName: string,
  upstreamModel: string,
  provider: string,
  info: DeclaredAbilities = {},
): ModelProfile {
  const names = [lastPart(upstreamModel), lastPart(modelName)]
  const family = singleVendorProviders.has(provider)
    ? undefined
    : families.find(({ pattern }) => names.some(name => pattern.test(name)))
  // Only undeclared properties are derived from the name.
  const guessed = { ...nativeProfile, ...(family?.profile.guard && info.guard === false ? {} : family?.profile) }
  const guard = info.guard ?? guessed.guard
  const declared = info.tool_calling === 'auto' ? undefined : info.tool_calling
  const profile: ModelProfile = {
    toolCalling: dashed(declared) ?? (guard ? 'none' : guessed.toolCalling),
    thinking: dashed(info.thinking) ?? guessed.thinking,
    alternateRoles: info.alternate_roles ?? guessed.alternateRoles,
    structuredOutput: dashed(info.structured_output) ?? schemaSupport(provider, upstreamModel),
    guard,
  }
  return isNative(profile) ? nativeProfile : Object.freeze(profile)
}

type Dashed<Word extends string> = Word extends `${infer First}_${infer Rest}` ? `${First}-${Rest}` : Word

function dashed<Word extends string>(word: Word | undefined): Dashed<Word> | undefined {
  return word?.replace('_', '-') as Dashed<Word> | undefined
}

function isNative(profile: ModelProfile): boolean {
  return (Object.keys(nativeProfile) as (keyof ModelProfile)[]).every(key => profile[key] === nativeProfile[key])
}
