/** A model at an upstream, among which the router chooses. Frozen when the configuration is read. */
import type { FieldDefaults } from './dialects/default-fields.ts'
import type { PromptMarks } from './dialects/prompt-marks.ts'
import type { Target } from './provider.ts'
import type { ProxyRules } from './transport.ts'
import type { Prices, PriceSource } from './usage/prices.ts'

/** How long content of a stream is waited for, in milliseconds. Comments, pings and empty deltas are none. */
export interface ContentTimeouts {
  /** From the first event of the answer (from the request while there is none) to its first content; 0 = no limit. */
  readonly firstContentMs: number
  /** Between two contents. 0 = no limit. */
  readonly contentMs: number
}

/** How long an upstream may take, in milliseconds. */
export interface Timeouts extends ContentTimeouts {
  /** Until the connection (and TLS) is established. */
  readonly connectMs: number
  /** From the request to the first byte of the body of a whole answer. 0 = no limit, as for all of these. */
  readonly firstByteMs: number
  /** From the request to the first event of a stream. Comments and pings are none. */
  readonly firstEventMs: number
  /** Between two pieces of an answer; keep-alives are pieces too. */
  readonly idleMs: number
  /** The whole call; 0 = no limit beyond the others. */
  readonly totalMs: number
}

/** Where an entry came from: a config file (with its line), the API, the environment, or the program itself. */
export interface Origin {
  readonly kind: 'config' | 'api' | 'environment' | 'discovered' | 'built-in'
  /** `config.yaml:12` or `OPENAI_API_KEY`. */
  readonly where: string
}

/** What a model is for; the words of LiteLLM's `model_info.mode`. */
export type ModelMode =
  | 'chat'
  | 'completion'
  | 'embedding'
  | 'moderation'
  | 'rerank'
  | 'image_generation'
  | 'audio_speech'
  | 'audio_transcription'

/** How tools reach a model; `config/models/model-profile.ts` has the defaults of model families. */
export type ToolCalling =
  /** `tools` and `tool_choice` as they are. */
  | 'native'
  /** Native only when `tool_choice` forces a call; otherwise described in the prompt and parsed out of the text. */
  | 'forced-only'
  /** Always described in the prompt; calls are fenced blocks or one of the other known notations in the text. */
  | 'prompted'
  /** As `prompted`, but only the text after `</think>` may hold calls. */
  | 'after-think'
  /** Refused: the model takes no tools at all. */
  | 'none'

/** What a model supports natively; the rest is emulated. Resolved once per deployment. */
export interface ModelProfile {
  readonly toolCalling: ToolCalling
  /** Thinking comes inside the text as `<think>...</think>`; `open` = the text starts inside it. */
  readonly thinking: 'separate' | 'tags' | 'tags-open'
  /** `user` and `assistant` must take turns; tool results go back as `user`. */
  readonly alternateRoles: boolean
  /** `native` = JSON schema is enforced upstream; `json-object` = only valid JSON; `none` = asked for in the prompt. */
  readonly structuredOutput: 'native' | 'json-object' | 'none'
  /** A safety classifier: one user message in, `safe` or `unsafe` out. */
  readonly guard: boolean
}

/**
 * Which chats a model takes only by OpenAI's Responses (`Provider.chatByResponses`), because its `/chat/completions`
 * refuses them; the rest goes by chat completions.
 */
export type ResponsesOnly =
  /** Function tools beside an effort other than `none`. */
  | 'tools-with-effort'
  /** Function tools, unless the effort is `none`: the model reasons by default. */
  | 'tools-unless-effort-none'
  /** Function tools. */
  | 'tools'
  | 'everything'

/** A model that needs no emulation. Compared by identity, which is all the forward lane checks. */
export const nativeProfile: ModelProfile = Object.freeze({
  toolCalling: 'native',
  thinking: 'separate',
  alternateRoles: false,
  structuredOutput: 'native',
  guard: false,
})

/** Why a deployment gets no calls. */
export interface DeploymentBlock {
  /** The user who blocked it, or the key without a user. */
  readonly by: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** For those who may read everything; null = none was given. */
  readonly reason: string | null
}

/** What a deployment takes in a minute, over all replicas. Compared by identity. */
export interface DeploymentRateLimits {
  /** null = no limit. */
  readonly requestsPerMinute: number | null
  /** null = no limit. */
  readonly tokensPerMinute: number | null
}

/** One entry of the model list: a model at an upstream, under a public name. */
export interface Deployment {
  /**
   * Stable id: given, or a hash of name and place (`config/models/deployment-ids.ts`). It is what `x-proxy-model-id`
   * carries.
   */
  readonly id: string
  /** The team whose calls alone it gets; absent = everybody's. */
  readonly teamId?: string
  /** The public name; deployments that share it are balanced. May end in `*`. */
  readonly modelName: string
  readonly target: Target
  readonly mode: ModelMode
  readonly weight: number
  /** Present = an administrator has switched it off. */
  readonly blocked?: DeploymentBlock | undefined
  /** Lower goes first. */
  readonly order: number
  /** The calls that it is for, by their tags; absent = none. */
  readonly tags?: readonly string[] | undefined
  /** Absent = no limits. */
  readonly rateLimits?: DeploymentRateLimits | undefined
  /** Of its first cooldown; absent = that of the router. */
  readonly cooldownMs?: number | undefined
  readonly timeouts: Timeouts
  /** The proxies for it and for its token service; absent = none. */
  readonly proxies?: ProxyRules | undefined
  /** `null` = price unknown: shown as such, never 0. */
  readonly prices: Prices | null
  /** The source of the prices; absent = there are none. */
  readonly priceSource?: PriceSource
  /**
   * true = fields this upstream lacks are dropped and reported; false = they are refused with 422; undefined = they are
   * dropped but for `n`, without which an answer lacks what was asked for.
   */
  readonly dropParams: boolean | undefined
  /** Fields of `extra_body` that restrict (`restrictionsIn`): every call has them, also a translated one. */
  readonly restrictions?: Readonly<Record<string, unknown>>
  /** Fields that pass to the upstream although their dialect does not know them, or they steer it (`routingFields`). */
  readonly allowedFields: ReadonlySet<string>
  /** Top-level fields that are never sent; absent = none. */
  readonly droppedFields?: readonly string[] | undefined
  /** false = of the fields that a dialect does not know only `allowedFields` pass. */
  readonly forwardsUnknownFields: boolean
  /** The upstream is told in which trace a call is; absent = it is not. */
  readonly forwardsTrace?: boolean
  /** Marks for the upstream's prompt cache in chats that have none; absent = none are set. */
  readonly promptMarks?: PromptMarks | undefined
  /** Fields for calls that have none of their own; absent = none. */
  readonly fieldDefaults?: FieldDefaults | undefined
  /** What `/model/info` shows: `model_info` of the configuration, completed by the catalogue. */
  readonly info: Readonly<Record<string, unknown>>
  readonly profile: ModelProfile
  /** Absent = it takes every chat by chat completions, or has no other API. */
  readonly responsesOnly?: ResponsesOnly | undefined
  /** It accepts schemas but does not promise to enforce them: whole answers to strict schemas are validated here. */
  readonly validatesSchemas?: boolean
  /** Names of guardrails that hold for calls that it may serve. */
  readonly guardrails?: readonly string[] | undefined
  /** Of its entry, as they were set and without secrets: what administrators read. */
  readonly writtenParams?: Readonly<Record<string, unknown>>
  /** The credential that its entry names, in the file or by API. */
  readonly credentialName?: string | undefined
  /**
   * It is sent callers' own credentials where they bring some; `required` = it has no key of the gateway's, and gets no
   * other calls. Absent = never.
   */
  readonly clientCredentials?: 'optional' | 'required'
  readonly origin: Origin
}
