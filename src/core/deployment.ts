/** A model at an upstream: what the router chooses between. Frozen when the configuration is read. */
import type { Secret } from '../lib/secret.ts'
import type { Provider } from './provider.ts'
import type { Prices } from './usage.ts'

export interface Timeouts {
  /** Until the connection (and TLS) stands. */
  readonly connectMs: number
  /** From the request to the first byte of a whole answer. 0 = no limit, as for all of these. */
  readonly firstByteMs: number
  /** The same for a stream. */
  readonly streamFirstByteMs: number
  /** Between two pieces of an answer. */
  readonly idleMs: number
  /** The whole call; 0 = no limit beyond the others. */
  readonly totalMs: number
}

/** Where an entry came from: a config file (with its line), the environment, or the program itself. */
export interface Origin {
  readonly kind: 'config' | 'environment' | 'discovered' | 'built-in'
  /** `config.yaml:12` or `OPENAI_API_KEY`. */
  readonly where: string
}

export interface Target {
  readonly provider: Provider
  /** The model's name at the upstream. */
  readonly model: string
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: Secret | undefined
  /** Extra headers of the operator, lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** `organization`, `api_version` and other settings a provider may read. */
  readonly options: Readonly<Record<string, unknown>>
}

export interface Deployment {
  /** Stable id: given, or a hash of name and parameters. It is what `x-proxy-model-id` carries. */
  readonly id: string
  /** The public name; deployments that share it are balanced. May end in `*`. */
  readonly modelName: string
  readonly target: Target
  readonly mode: 'chat' | 'completion' | 'embedding'
  readonly weight: number
  /** Lower goes first. */
  readonly order: number
  readonly timeouts: Timeouts
  /** `null` = price unknown: shown as such, never 0. */
  readonly prices: Prices | null
  /** true = fields this upstream lacks are dropped and reported; false = they are refused with 422. */
  readonly dropParams: boolean
  /** What `/model/info` shows: `model_info` of the configuration, completed by the catalogue. */
  readonly info: Readonly<Record<string, unknown>>
  readonly origin: Origin
}
