import { expect, test } from 'bun:test'
import { vertexOptions } from './vertex-options.ts'

test('an empty variable counts as not set: the next one is used', () => {
  const read = (environment: Record<string, string>) => vertexOptions({}, environment, true)
  expect(
    read({
      VERTEXAI_PROJECT: '',
      GOOGLE_CLOUD_PROJECT: 'real',
      VERTEXAI_LOCATION: '',
      GOOGLE_CLOUD_LOCATION: 'global',
    }),
  ).toEqual({ options: { vertex_project: 'real', vertex_location: 'global' } })
  expect(vertexOptions({}, { VERTEXAI_PROJECT: '', GOOGLE_CLOUD_PROJECT: '' }, false)).toMatchObject({
    message: expect.stringContaining('no project'),
  })
  // A missing file is a mistake, not ignored.
  expect(
    vertexOptions({}, { VERTEXAI_CREDENTIALS: '', GOOGLE_APPLICATION_CREDENTIALS: '/no/such/file' }, false),
  ).toMatchObject({ message: expect.stringContaining('cannot be read') })
})
