/**
 * What a deployment's model can do by itself: declared in `model_info`, else known by the shape of its name, else
 * everything. A name only decides where it leaves no doubt: a wrong guess would take something from a good model.
 */
import { nativeProfile } from '../../core/deployment.ts'
import type { ModelProfile } from '../../core/deployment.ts'

/** The part of `model_info` that is about abilities. */
export interface DeclaredAbilities {
  readonly tool_calling?: 'auto' | 'native' | 'forced_only' | 'prompted' | 'after_think' | 'none'
  readonly thinking?: 'separate' | 'tags' | 'tags_open'
  readonly alternate_roles?: boolean | null
  readonly structured_output?: 'native' | 'json_object' | 'none'
  readonly guard?: boolean | null
}

interface Family {
  /** Of the last part of the model's name, behind the organisation. */
  readonly pattern: RegExp
  readonly profile: Partial<ModelProfile>
}

/**
 * The families of the gateway API specification ("Tool calling by model family") that differ from the usual. The
 * others, v3 70B and v4.5 27B, are native, as is everything that no pattern knows.
 */
const families: readonly Family[] = [
  // `...-v4-27b-it`: version 4 exactly, 27B exactly, instruction-tuned.
  {
    pattern: /(?:^|[-_])v4[-_]27b[-_](?:it|instruct)$/i,
    profile: { toolCalling: 'forced-only', alternateRoles: true },
  },
  // `...-v3.5-70b-R`: a version, a size, and the capital R at the end. `command-r` and `deepseek-r1` are others.
  { pattern: /(?:^|[-_])[vV]\d+(?:\.\d+)?[-_]\d+[bB]-R$/, profile: { toolCalling: 'after-think', thinking: 'tags' } },
  // `guard` as a word. Llama Guard judges conversations too; `safeguard` and `guardian` models take system prompts.
  { pattern: /^(?!.*llama[-_]?guard)(?:.*[-_.])?guard(?:[-_.].*)?$/i, profile: { guard: true, toolCalling: 'none' } },
]

/** Hosts of a single vendor's models: whatever their names look like, they are none of the families. */
const singleVendors: ReadonlySet<string> = new Set([
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
 * Hosts whose documentation promises that an answer fits a schema, or that the call is refused. Of all others nobody
 * knows which software, in which version and with which settings, stands behind the address.
 */
const schemaKeepers: ReadonlySet<string> = new Set([
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

/** true = schemas are sent as they are, and it is not certain that the answers keep to them. */
export function judgesSchemas(profile: ModelProfile, provider: string, info: DeclaredAbilities = {}): boolean {
  return profile.structuredOutput === 'native' && info.structured_output === undefined && !schemaKeepers.has(provider)
}

const lastPart = (model: string): string => model.slice(model.lastIndexOf('/') + 1)

/** `upstreamModel` is known better than the public name, which the operator may choose freely; the first match counts. */
export function modelProfile(
  modelName: string,
  upstreamModel: string,
  provider: string,
  info: DeclaredAbilities = {},
): ModelProfile {
  const names = [lastPart(upstreamModel), lastPart(modelName)]
  const family = singleVendors.has(provider)
    ? undefined
    : families.find(({ pattern }) => names.some(name => pattern.test(name)))
  // What is declared about tools or thinking says that the operator knows the model: only the rest is guessed.
  const guessed = { ...nativeProfile, ...(family?.profile.guard && info.guard === false ? {} : family?.profile) }
  const guard = info.guard ?? guessed.guard
  const declared = info.tool_calling === 'auto' ? undefined : info.tool_calling
  const profile: ModelProfile = {
    toolCalling: dashed(declared) ?? (guard ? 'none' : guessed.toolCalling),
    thinking: dashed(info.thinking) ?? guessed.thinking,
    alternateRoles: info.alternate_roles ?? guessed.alternateRoles,
    structuredOutput: dashed(info.structured_output) ?? guessed.structuredOutput,
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
