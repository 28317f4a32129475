/** Opens a WebSocket for OpenAI's Responses: the handshake; the rest is loaded when one is opened. */
import type { Answer } from '../../../core/answer.ts'
import type { Endpoint, Services } from '../../../core/endpoint.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { HttpRequest } from '../../../core/request.ts'
import { openaiResponses } from '../../../formats/openai/responses/index.ts'
import { webSocketAccept } from '../../../lib/websocket-handshake.ts'

/** Throws `invalid-request` where the request is no handshake. */
export async function openResponsesSocket(
  opening: HttpRequest,
  services: Services,
  endpoint: Endpoint,
): Promise<Answer> {
  const handshake = webSocketAccept(opening.headers)
  if ('problem' in handshake) throw new GatewayError('invalid-request', handshake.problem)
  const { ResponsesSession } = await import('./socket-session.ts')
  return {
    status: 101,
    headers: {},
    body: null,
    upgrade: {
      accept: handshake.accept,
      messageBytesMax: services.current.settings.bodyBytesMax,
      open: socket =>
        new ResponsesSession(socket, {
          opening,
          services,
          admit: call => services.admitAgain(call, endpoint),
          create: async (call, caller) => endpoint.handle(call, services, caller),
          check: (call, caller, bytes) =>
            services.previewCall(call, caller, { format: openaiResponses, route: '/v1/responses' }, bytes),
        }),
    },
  }
}
