/** What the answer needs to know of its request: the fields it repeats, and whose tools are called. */
import type { ChatRequest } from '../../../core/hub/chat.ts'
import { ToolNames } from './tools.ts'
import type { Json } from '../../../lib/json/json-values.ts'

/** Goes with the request from `decode` to the writer of its answer. */
export interface ResponsesContext {
  /** The client's body. */
  readonly fields: Json
  /** The client's tools behind the flat names that upstreams get. */
  readonly names: ToolNames
}

/** A symbol, so that it is copied with the request and never written into JSON. */
const responsesContext = Symbol('responses context')

interface MarkedRequest extends ChatRequest {
  [responsesContext]?: ResponsesContext
}

/** Marks `request` itself, and returns it. */
export function withContext(request: ChatRequest, context: ResponsesContext): ChatRequest {
  const marked: MarkedRequest = request
  marked[responsesContext] = context
  return marked
}

/** Empty for a request that another format made. */
export function contextOf(request: ChatRequest): ResponsesContext {
  return (request as MarkedRequest)[responsesContext] ?? { fields: {}, names: new ToolNames() }
}
