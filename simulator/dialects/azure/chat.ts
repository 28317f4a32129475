/**
 * Azure OpenAI's additions to OpenAI's chat: content filter results, an API version in the query, errors of its own.
 * https://learn.microsoft.com/azure/ai-foundry/openai/reference
 */
import { ApiError } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type { JsonObject } from '../../lib/json.ts'
import { openaiUsage, readChat, writeChat } from '../openai/chat.ts'
import { openaiError } from '../openai/error.ts'
import type { ErrorDetails } from '../openai/error.ts'
import type { EndpointHandler } from '../endpoint.ts'

const safe = { filtered: false, severity: 'safe' }
const filterResults = { hate: safe, self_harm: safe, sexual: safe, violence: safe }
const promptFilterResults = [
  {
    prompt_index: 0,
    content_filter_results: { ...filterResults, jailbreak: { filtered: false, detected: false } },
  },
]

function withFilterResults(body: JsonObject): JsonObject {
  return {
    ...body,
    choices: objectsOf(body.choices).map(choice => ({ ...choice, content_filter_results: filterResults })),
  }
}

/** Azure sends the filter results of the prompt in a first chunk without choices. */
function* withFilterResultsInEvents(events: Iterable<StreamEvent>): Generator<StreamEvent> {
  const first = {
    choices: [],
    created: 0,
    id: '',
    model: '',
    object: '',
    prompt_filter_results: promptFilterResults,
  }
  yield { text: `data: ${JSON.stringify(first)}\n\n`, kind: 'start', tokens: 0 }
  for (const event of events) {
    const value: unknown = event.kind === 'end' ? undefined : JSON.parse(event.text.slice('data: '.length))
    yield isJsonObject(value) ? { ...event, text: `data: ${JSON.stringify(withFilterResults(value))}\n\n` } : event
  }
}

function withFilterResultsInResponse(answer: SimulatedResponse): SimulatedResponse {
  const { content } = answer
  if (typeof content !== 'string')
    return { ...answer, content: withFilterResultsInEvents(content as Iterable<StreamEvent>) }
  const whole = { ...withFilterResults(JSON.parse(content) as JsonObject), prompt_filter_results: promptFilterResults }
  return { ...answer, content: JSON.stringify(whole) }
}

/** Chat completions; the query has to name an `api-version`. */
export const azureChat: EndpointHandler = ({ request, body, model, generate, usageOf }) => {
  const isDated = request.target.includes('/deployments/')
  if (isDated && !/[?&]api-version=\d{4}-\d\d-\d\d(?:-preview)?(?:&|$)/.test(request.target))
    throw new ApiError('Resource not found', { status: 404, code: '404' })
  return withFilterResultsInResponse(writeChat(generate(readChat(body, model)), body, usageOf(openaiUsage)))
}

const filteredPrompt = {
  message:
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify " +
    'your prompt and retry.',
  type: null,
  param: 'prompt',
  code: 'content_filter',
  status: 400,
  innererror: {
    code: 'ResponsibleAIPolicyViolation',
    content_filter_result: { ...filterResults, hate: { filtered: true, severity: 'high' } },
  },
}

const messages: Record<number, [string, string]> = {
  401: [
    '401',
    'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an ' +
      'active subscription.',
  ],
  404: ['DeploymentNotFound', 'The API deployment for this resource does not exist.'],
  429: [
    '429',
    'Requests to the ChatCompletions_Create Operation have exceeded call rate limit of your current pricing tier. ' +
      'Please retry after 1 second.',
  ],
}

/** Azure's formats for an invalid key, a missing deployment, a rate limit and a filtered prompt; otherwise OpenAI's. */
export function azureError(details: ErrorDetails): JsonObject {
  if (details.kind === 'content-filter') return { error: filteredPrompt }
  const own = details.kind ? undefined : messages[details.status]
  if (!own) return openaiError(details)
  return { error: { code: details.code ?? own[0], message: details.message ?? own[1] } }
}
