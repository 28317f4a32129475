import { expect, test } from 'bun:test'
import type { Endpoint, Services } from '../core/endpoint.ts'
import type { IncomingRequest } from '../core/request.ts'
import { createFrontDoor } from './router.ts'

test('HEAD of what needs no key is answered as GET: a gateway that is not ready says so', async () => {
  const endpoint = (path: string, auth: Endpoint['auth']) =>
    ({
      method: 'GET',
      paths: [path],
      auth,
      handle: () => ({ status: 503, headers: { etag: '"a"' }, body: '{}' }),
    }) as unknown as Endpoint
  const door = createFrontDoor({
    endpoints: [endpoint('/ready', 'none'), endpoint('/models', 'key')],
    services: {} as Services,
    policies: [],
    reportInternal() {},
    metricsRequireKey: () => false,
  })
  const head = async (path: string) =>
    door.handle({ method: 'HEAD', path, headers: new Headers(), params: {} } as unknown as IncomingRequest)
  expect(await head('/ready')).toMatchObject({ status: 503, headers: { etag: '"a"' } })
  // Nothing of what a key opens is shown or done without one.
  expect(await head('/models')).toMatchObject({ status: 200, headers: {}, body: null })
})
