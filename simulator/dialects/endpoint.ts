/** What a dialect gets to answer a request: its words, and the means to think about them. */
import type { SimulatedResponse } from './response.ts'
import type { GenerationRequest, Generation, TokenUsage, UsageWriter } from '../generation/types.ts'
import type { JsonObject } from '../lib/json.ts'
import type { HttpRequest } from '../server/request-parser.ts'

/** The same for all dialects: what they do not need they leave alone. */
export interface EndpointCall {
  readonly request: HttpRequest
  readonly body: JsonObject
  /** Without the fault suffix; never empty. */
  readonly model: string
  readonly seed: number
  /** The path asks for a stream, whatever the body says. */
  readonly streams: boolean | undefined
  /** With the seed, and the script if one fits. */
  generate(request: GenerationRequest): Generation
  /** What is written of the usage, as a fault has it reported. */
  usageOf(write: (usage: TokenUsage) => JsonObject): UsageWriter
}

/** Answers one endpoint. Throws BadRequest for what the vendor would refuse. */
export type EndpointHandler = (call: EndpointCall) => SimulatedResponse
