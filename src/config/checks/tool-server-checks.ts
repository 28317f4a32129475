/** Mistakes in tool servers that the schema cannot see. */
import type { Finding } from '../reading/reading.ts'
import type { Config } from '../sections/file.ts'
import { toolServerProblem } from '../sections/tool-servers.ts'

const needsConsent =
  'is a program that the gateway would start; write `allow_stdio: true` at the top of this file, which only who may ' +
  'write this file can do'

/** What each server needs, names that two of them have, and programs that nothing allows. */
export function toolServerFindings({ mcp_servers: servers = {}, allow_stdio: allowsStdio }: Config): Finding[] {
  const findings: Finding[] = []
  const prefixes = new Map<string, string>()
  for (const [name, entry] of Object.entries(servers)) {
    const problem = toolServerProblem(entry)
    if (problem) findings.push({ path: ['mcp_servers', name, problem.key], message: problem.message })
    else if (entry.command !== undefined && !allowsStdio)
      findings.push({ path: ['mcp_servers', name, 'command'], message: needsConsent })
    const prefix = (entry.alias ?? name).toLowerCase()
    const other = prefixes.get(prefix)
    if (other !== undefined)
      findings.push({
        path: ['mcp_servers', name, ...(entry.alias === undefined ? [] : ['alias'])],
        message: `the names of its tools begin like those of '${other}'; give one of the two another \`alias\``,
      })
    prefixes.set(prefix, name)
  }
  return findings
}
