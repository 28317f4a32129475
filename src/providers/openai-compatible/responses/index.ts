/** Chats by OpenAI's Responses (API reference, "Create a model response"). */
import type { ChatAdapter, MakeHead, Target } from '../../../core/provider.ts'
import { isLastEvent, responsesReader, responsesResult } from './read.ts'
import { responsesBody } from './request.ts'
import { accountOf } from './signature.ts'

/** How a host differs. */
export interface ResponsesHost {
  readonly head: MakeHead
  /** The model's name in the body; absent = `Target.model`. */
  modelName?(target: Target): string
  /** Knows tools of free text (`custom`); others get functions with one text. */
  readonly textTools?: boolean
}

/** The adapter for each target: what is signed for one account means nothing to another. */
export function chatByResponses(host: ResponsesHost): (target: Target) => ChatAdapter {
  const adapters = new WeakMap<Target, ChatAdapter>()
  return target => {
    let adapter = adapters.get(target)
    if (!adapter) adapters.set(target, (adapter = adapterFor(host, accountOf(target))))
    return adapter
  }
}

function adapterFor(host: ResponsesHost, account: string): ChatAdapter {
  return {
    request(request, target) {
      const model = host.modelName?.(target) ?? target.model
      return { head: host.head(target, request.stream), ...responsesBody(request, model, { ...host, account }) }
    },
    result: body => responsesResult(body, account),
    reader: () => responsesReader(account),
    isLast: isLastEvent,
  }
}
