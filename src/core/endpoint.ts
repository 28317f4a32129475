/** One public path family: who may call it and what answers. */
import type { Tokenizer } from '../lib/tokens/tokenizer.ts'
import type { Answer } from './answer.ts'
import type { Caller } from './caller.ts'
import type { Deployment } from './deployment.ts'
import type { GatewayError } from './errors.ts'
import type { Format } from './format.ts'
import type { FileCalls } from './files.ts'
import type {
  AssistantStore,
  DetachedRuns,
  FileStore,
  KeyStore,
  Ledger,
  ModelDirectory,
  ResponseStore,
} from './ports.ts'
import type { HttpRequest } from './request.ts'
import type { Settings } from './settings.ts'

/** One call of a model, as an endpoint asks for it. */
export interface ModelCall {
  readonly format: Format
  /** Canonical path for metrics and the ledger. */
  readonly route: string
  /** The model of the path or query; wins over the body's. */
  readonly model?: string | undefined
  /** Where the path says it and not the body. */
  readonly stream?: boolean
  /** Asked when neither path nor body names a model. */
  defaultModel?(): string | undefined
}

/** The request that a call would send to its upstream, free of secrets. */
export interface CallPreview {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON. */
  readonly body: unknown
  /** Client fields that this upstream would not get. */
  readonly dropped: readonly string[]
  readonly deployment: Deployment
}

/** What endpoints work with. */
export interface Services {
  settings(): Settings
  models(): ModelDirectory
  /** Reads the body, runs the call through every policy and settles it: every model endpoint ends here. */
  callModel(request: HttpRequest, caller: Caller, call: ModelCall): Promise<Answer>
  /**
   * Plans the call of this body and sends nothing: no limit, no ledger, no cost. Rejects with the GatewayError that the
   * call itself would meet before its upstream.
   */
  previewCall(request: HttpRequest, caller: Caller, call: ModelCall, bytes: Uint8Array): Promise<CallPreview>
  readonly tokenizer: Pick<Tokenizer, 'count'>
  readonly keys: KeyStore
  readonly ledger: Ledger
  readonly responses: ResponseStore
  readonly assistants: AssistantStore
  readonly files: FileStore
  readonly fileCalls: FileCalls
  readonly detached: DetachedRuns
  /** Hash of a key text under the installation's pepper (see KeyRecord.hash). */
  hashKey(keyText: string): string
  /** Prometheus text exposition. */
  metricsText(): string
  /** Ready for traffic; the reasons when not. */
  readiness(): { ready: boolean; details: Record<string, unknown> }
  epochMs(): number
  readonly version: string
}

/** The part of the OpenAPI document that an endpoint knows best. Schemas are JSON Schema (OpenAPI 3.1). */
export interface EndpointDoc {
  readonly summary: string
  readonly tag: string
  readonly query?: Readonly<Record<string, { schema: object; description: string; required?: boolean }>>
  readonly request?: object
  /** No body is as good as an empty object. */
  readonly requestOptional?: true
  readonly response?: object
  /** Media types of the two bodies; absent = JSON. */
  readonly requestType?: string
  readonly responseType?: string
}

/** One method on one family of paths. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE' | 'PATCH'
  /** With and without `/v1` where the specification says so. `{name}` = one segment, `{name+}` = may hold slashes. */
  readonly paths: readonly string[]
  /** `none` = public; `key` = any valid key; `admin` = the master key. Checked before the body is read. */
  readonly auth: 'none' | 'key' | 'admin'
  readonly doc: EndpointDoc
  /** The error body of the path's dialect, for failures before the format is at work; absent = OpenAI's. */
  readonly errorBody?: (error: GatewayError, requestId?: string) => object
  /** `caller` is undefined only for `auth: 'none'`. May throw GatewayError. */
  handle(request: HttpRequest, services: Services, caller: Caller | undefined): Answer | Promise<Answer>
}
