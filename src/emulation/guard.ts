/** Safety classifiers: one message of a user in, `safe` or `unsafe` out (specification, "Safety classification"). */
import type { ChatEvent, ChatRequest } from '../core/chat.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { ModerationsRequest, ModerationsResult } from '../core/moderations.ts'
import type { ChatAdapter, UnaryAdapter } from '../core/provider.ts'

/**
 * Refuses what a guard would silently judge wrongly. The three ways to ask (a prompt, a prompt with its response, a
 * response alone) are all one message's text, and pass untouched.
 */
export function checkGuardInput({ messages }: ChatRequest): void {
  const stranger = messages.find(message => message.role !== 'user')
  if (stranger) throw refused(`takes no message of the role '${stranger.role}'`)
  if (messages.length !== 1) throw refused(`takes one message, not ${messages.length}`)
  const { parts } = messages[0]!
  if (parts.some(part => part.type !== 'text')) throw refused('takes text only')
  if (parts.every(part => part.type === 'text' && part.text.trim() === '')) throw refused('needs a text to judge')
}

function refused(what: string): GatewayError {
  return new GatewayError(
    'invalid-request',
    `messages: a guard model ${what}; send a single user message, with the text itself, or with ` +
      "'Human user:<prompt>' and 'AI assistant:<response>.' on two lines",
    { param: 'messages' },
  )
}

/**
 * `/v1/moderations` on a guard model. It judges one text a call, so that several inputs are refused: their calls would
 * share one row of the ledger, and a failure of one would lose the verdicts of the others.
 */
export function moderationsByGuard(chat: ChatAdapter): UnaryAdapter<ModerationsRequest, ModerationsResult> {
  return {
    request(request, target) {
      const [input, ...more] = request.inputs
      if (!input || more.length > 0)
        throw inputProblem(
          `has ${request.inputs.length} entries, and a guard model judges one text a call; send one call for each`,
        )
      if (input.some(part => part.type !== 'text'))
        throw inputProblem('has an image, and a guard model judges text only; send the text alone')
      const text = input.map(part => (part.type === 'text' ? part.text : '')).join('\n')
      const asked: ChatRequest = {
        model: request.model,
        messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
        stream: false,
        includeUsage: false,
        extra: { format: 'openai-moderations', fields: {} },
      }
      checkGuardInput(asked)
      const call = chat.request(asked, target)
      return { ...call, dropped: [...Object.keys(request.extra.fields), ...call.dropped] }
    },
    result: body => verdictOf(chat.result(body)),
  }
}

function inputProblem(msg: string): GatewayError {
  return unprocessable([{ loc: ['body', 'input'], msg, type: 'unsupported' }])
}

/** The first word decides; some guards name the broken rules in the lines after it. */
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
