/** Chats by OpenAI's Responses (API reference, "Create a model response"). */
import { headOf } from '../../../core/target-cache.ts'
import type { ChatAdapter, MakeHead, Target } from '../../../core/provider.ts'
import { noFieldRules } from '../../../core/dialects/field-rules.ts'
import type { FieldRules } from '../../../core/dialects/field-rules.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { isLastEvent, responsesReader, responsesResult } from './read.ts'
import { responsesBody } from './request.ts'
import { accountOf } from './signature.ts'

/** How a host differs. */
export interface ResponsesHost {
  readonly head: MakeHead
  /** The model's name in the body; absent = `Target.model`. */
  modelName?(target: Target): string
  /** What it refuses; absent = nothing. */
  rules?(target: Target): FieldRules
  /** Fields that the model adds to the body; absent = none. */
  fields?(target: Target): Json | undefined
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
      const rules = host.rules?.(target) ?? noFieldRules
      const { body, dropped } = responsesBody(request, model, { ...host, rules, account })
      return { head: headOf(target, host.head, request.stream), body: { ...body, ...host.fields?.(target) }, dropped }
    },
    result: body => responsesResult(body, account),
    reader: () => responsesReader(account),
    isLast: isLastEvent,
  }
}
