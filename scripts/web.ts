/** `npm run web`: the pages with live updates, in front of the gateway that MODELGATE_URL names. Ctrl-C ends it. */
import { join } from 'node:path'
import { createServer } from 'vite'

const folder = join(import.meta.dir, '../web')
const server = await createServer({
  root: folder,
  configFile: join(folder, 'vite.config.ts'),
  server: { host: '127.0.0.1' },
})
await server.listen()
server.printUrls()
