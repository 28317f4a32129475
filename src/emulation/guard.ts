/** Safety classifiers ("guard models", such as Llama Guard): one user message in, `safe` or `unsafe` out. */
import type { ChatEvent, ChatRequest } from '../core/hub/chat.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { ModerationsRequest, ModerationsResult } from '../core/hub/moderations.ts'
import type { ChatAdapter, UnaryAdapter } from '../core/provider.ts'

/**
 * Checks that the request is one user message of text. Throws `invalid-request` otherwise: the classifier would return
 * a wrong verdict without an error. A prompt, a prompt with its response and a response alone are all written as the
 * text of one message, which is not changed.
 */
export function checkGuardInput({ messages }: ChatRequest): void {
  const notOfUser = messages.find(message => message.role !== 'user')
  if (notOfUser) throw messagesError(`takes no message of the role '${notOfUser.role}'`)
  if (messages.length !== 1) throw messagesError(`takes one message, not ${messages.length}`)
  const { parts } = messages[0]!
  if (parts.some(part => part.type !== 'text')) throw messagesError('takes text only')
  if (parts.every(part => part.type === 'text' && part.text.trim() === '')) throw messagesError('needs a text to judge')
}

function messagesError(what: string): GatewayError {
  return new GatewayError(
    'invalid-request',
    `messages: a guard model ${what}; send a single user message, with the text itself, or with ` +
      "'Human user:<prompt>' and 'AI assistant:<response>.' on two lines",
    { param: 'messages' },
  )
}

/**
 * `/v1/moderations` on a guard model, as a chat call. The model classifies one text per call, so several inputs are
 * refused (`unprocessable`): their calls would share one ledger row, and one failure would lose the other verdicts.
 * `result` throws `upstream-broken` for an answer that is neither `safe` nor `unsafe`.
 */
export function moderationsByGuard(chat: ChatAdapter): UnaryAdapter<ModerationsRequest, ModerationsResult> {
  return {
    request(request, target) {
      const [input, ...more] = request.inputs
      if (!input || more.length > 0)
        throw inputError(
          `has ${request.inputs.length} entries, and a guard model judges one text a call; send one call for each`,
        )
      if (input.some(part => part.type !== 'text'))
        throw inputError('has an image, and a guard model judges text only; send the text alone')
      const text = input.map(part => (part.type === 'text' ? part.text : '')).join('\n')
      const chatRequest: ChatRequest = {
        model: request.model,
        messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
        stream: false,
        includeUsage: false,
        extra: { format: 'openai-moderations', fields: {} },
      }
      checkGuardInput(chatRequest)
      const call = chat.request(chatRequest, target)
      return { ...call, dropped: [...Object.keys(request.extra.fields), ...call.dropped] }
    },
    result: body => verdictOf(chat.result(body)),
  }
}

function inputError(msg: string): GatewayError {
  return unprocessable([{ loc: ['body', 'input'], msg, type: 'unsupported' }])
}

/** Reads the first word; Llama Guard lists the violated categories in the lines after it. */
function verdictOf(events: readonly ChatEvent[]): ModerationsResult {
  let text = ''
  let usage: ModerationsResult['usage']
  for (const event of events) {
    if (event.type === 'error') throw event.error
    if (event.type === 'text') text += event.text
    if (event.type === 'usage') usage = event.usage
  }
  const word = /^\W*(safe|unsafe)\b/i.exec(text)?.[1]?.toLowerCase()
  if (word === undefined)
    throw new GatewayError('upstream-broken', 'the guard model answered neither `safe` nor `unsafe`', {
      cause: text.slice(0, 200),
    })
  const flagged = word === 'unsafe'
  const verdict = { flagged, categories: { unsafe: flagged }, scores: { unsafe: flagged ? 1 : 0 } }
  return { verdicts: [verdict], ...(usage && { usage }) }
}
