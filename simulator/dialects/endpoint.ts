/** The interface between routing and the handlers of the dialects. */
import type { SimulatedResponse } from './response.ts'
import type { GenerationRequest, Generation, TokenUsage, UsageWriter } from '../generation/types.ts'
import type { JsonObject } from '../lib/json.ts'
import type { HttpRequest } from '../server/request-parser.ts'

/** One request to one endpoint. */
export interface EndpointCall {
  readonly request: HttpRequest
  readonly body: JsonObject
  /** Without the fault suffix; never empty. */
  readonly model: string
  readonly seed: number
  /** Whether the path asks for a stream; undefined = the body decides. */
  readonly streams: boolean | undefined
  /** The host that it is asked to refuse as; undefined = none. */
  readonly host: string | undefined
  /** Generates the answer with the simulator's seed, and with the matching script if there is one. */
  generate(request: GenerationRequest): Generation
  /** Wraps a usage formatter so that faults which concern the usage apply. */
  usageOf(write: (usage: TokenUsage) => JsonObject): UsageWriter
}

/** Handles one endpoint. Throws ApiError where the vendor would refuse the request. */
export type EndpointHandler = (call: EndpointCall) => SimulatedResponse
