/** Messages for Claude Code and Anthropic's SDKs. `?beta=true`, which they send with betas, changes nothing here. */
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointDoc, Services } from '../../core/endpoint.ts'
import { bodySchema } from '../../core/dialects/fields.ts'
import { clientRequestId } from '../../core/request.ts'
import type { HttpRequest } from '../../core/request.ts'
import { anthropicCountTokens, anthropicErrorBody, anthropicMessages } from '../../formats/anthropic/index.ts'
import { countTable, messagesTable } from '../../formats/anthropic/fields.ts'
import { manageContext, withContext } from './messages/context.ts'
import type { ManagedContext } from './messages/context.ts'
import { runMessages } from './tool-loop/messages-answer.ts'
import { prepareMessagesRun } from './tool-loop/messages-turns.ts'
import type { MessagesRun } from './tool-loop/messages-turns.ts'
import { mentionsTools } from './tool-loop/tool-runner.ts'

const answers = () => import('./answers/messages.ts')
const query: EndpointDoc['query'] = {
  beta: { schema: { type: 'boolean' }, description: 'It is accepted and has no effect.' },
}

const paths = (rest: string): string[] =>
  ['/v1/messages', '/messages', '/anthropic/v1/messages'].map(base => base + rest)

/** Anthropic's SDKs read the id of the call from the header `request-id`. */
async function named(request: HttpRequest, answer: Promise<Answer>): Promise<Answer> {
  const answered = await answer
  answered.headers['request-id'] = clientRequestId(request.headers) ?? request.id
  return answered
}

/** platform.claude.com/docs/en/api/messages. Answers also have the header `request-id`. */
export const messages: Endpoint = {
  method: 'POST',
  paths: paths(''),
  auth: 'key',
  doc: {
    operationId: 'createMessage',
    summary: "Create a message, in Anthropic's dialect",
    tag: 'Messages',
    query,
    request: () => bodySchema(messagesTable.fields),
    success: async () => (await answers()).messagesSuccess,
    callsModel: true,
    headers: ['request-id'],
  },
  errorBody: anthropicErrorBody,
  handle: (request, services, caller) => named(request, create(request, services, caller!)),
}

async function create(request: HttpRequest, services: Services, caller: Caller): Promise<Answer> {
  let context: ManagedContext | undefined
  let run: MessagesRun | undefined
  const answer = await services.callModel(request, caller, {
    format: anthropicMessages,
    route: '/v1/messages',
    prepare(call) {
      const managing = manageContext(call, { request, services })
      if (!mentionsTools(call.body!)) return managing?.then(found => void (context = found))
      return Promise.resolve(managing).then(async found => {
        context = found
        run = await prepareMessagesRun(call, { request, services })
      })
    },
  })
  const whole = run ? await runMessages(answer, run) : answer
  return context ? withContext(whole, context) : whole
}

/**
 * platform.claude.com/docs/en/api/messages-count-tokens. Where no upstream can count, the answer is an estimate and a
 * header says so.
 */
export const messagesCountTokens: Endpoint = {
  method: 'POST',
  paths: paths('/count_tokens'),
  auth: 'key',
  doc: {
    operationId: 'countMessageTokens',
    summary: "Count the tokens of a message's input, in Anthropic's dialect",
    tag: 'Messages',
    query,
    request: () => bodySchema(countTable.fields),
    success: async () => (await answers()).inputTokensSuccess,
    callsModel: true,
    headers: ['request-id', 'x-token-count-source'],
  },
  errorBody: anthropicErrorBody,
  handle: (request, services, caller) =>
    named(
      request,
      services.callModel(request, caller!, { format: anthropicCountTokens, route: '/v1/messages/count_tokens' }),
    ),
}
