/** A server of MCP over standard input and output, for tests. */
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

serveStdio(() => {
  const server = new McpServer({ name: 'program-test', version: '1.0.0' })
  server.registerTool('environment', { description: 'Says what it sees of the environment' }, () => ({
    content: [{ type: 'text' as const, text: JSON.stringify(process.env) }],
  }))
  server.registerTool('exit', { description: 'Ends the program' }, () => process.exit(3))
  return server
})
