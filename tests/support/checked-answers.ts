/**
 * Holds every whole answer in JSON that gateways of this process give against the schema beside its handler, whoever
 * has asked: a field that the schema does not name, lacks or types differently is a fault. Answers of models are not
 * held here, nor those that are stored for later, as upstreams of tests lie on purpose; `tests/e2e/api-document.test.ts` asks for each of them.
 */
import type { Answer } from '../../src/core/answer.ts'
import type { Endpoint } from '../../src/core/endpoint.ts'
import { allEndpoints } from '../../src/endpoints/index.ts'
import { openapiDocument } from '../../src/endpoints/openapi/document.ts'
import { ApiDocumentCheck } from './api-document.ts'
import type { ApiDocument } from './api-document.ts'

const faults: string[] = []
let checking: Promise<void> | undefined

/** Begins to hold answers against their schemas; once for all gateways of the process. */
export function checkAnswers(): Promise<void> {
  return (checking ??= wrapEndpoints())
}

/** Throws an error with every fault since it was asked last. */
export function throwAnswerFaults(): void {
  const found = faults.splice(0)
  if (found.length > 0) throw new Error(`${found.length} answer(s) do not fit their schemas:\n${found.join('\n\n')}`)
}

async function wrapEndpoints(): Promise<void> {
  const endpoints = await allEndpoints()
  const document = await openapiDocument(endpoints, { version: '0', headerPrefix: 'x-proxy', rootPath: '' })
  const check = new ApiDocumentCheck(JSON.parse(JSON.stringify(document)) as ApiDocument)
  for (const endpoint of endpoints) if (isOurs(endpoint)) wrap(endpoint, check)
}

/** A stored response is what an upstream has answered. */
const isOurs = ({ doc }: Endpoint): boolean => doc.success !== undefined && !doc.callsModel && doc.tag !== 'Responses'

function wrap(endpoint: Endpoint, check: ApiDocumentCheck): void {
  const handle = endpoint.handle.bind(endpoint)
  const step = { method: endpoint.method, path: endpoint.paths[0]!.replaceAll('+}', '}') }
  const held = (answer: Answer): Answer => {
    const text = jsonOf(answer)
    if (text === undefined || answer.status !== (endpoint.doc.successStatus ?? 200)) return answer
    try {
      check.checkBody(step, JSON.parse(text))
    } catch (error) {
      faults.push((error as Error).message)
    }
    return answer
  }
  endpoint.handle = (request, services, caller) => {
    const answer = handle(request, services, caller)
    return answer instanceof Promise ? answer.then(held) : held(answer)
  }
}

/** The text of a whole body in JSON; undefined = it is a stream, or another media type. */
function jsonOf({ headers, body }: Answer): string | undefined {
  if (!/^application\/([\w.]+\+)?json\b/.test(headers['content-type'] ?? '')) return undefined
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? Buffer.from(body).toString() : undefined
}
