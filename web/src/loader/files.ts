// Fetches the two files of a build. Its one concern is that each way to be wrong says what it is: nothing there, a web
// page where a file was meant, a file cut short, or one of another version. Starting is start.ts.

import type { Variant } from '../assets.js';
import { buildId } from './build_id.js';
import { nodeBuiltin } from './features.js';
import type { ModuleFactory } from './glue.js';

type Bytes = Uint8Array<ArrayBuffer>;

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Compiles the module at `url`, and sees that it is this library's. @throws Error naming the URL and what is wrong. */
export async function loadWasm(
  url: string,
  variant: Variant,
  signal: AbortSignal,
): Promise<WebAssembly.Module> {
  const fs = nodeBuiltin<{ promises: { readFile(url: URL): Promise<Bytes> } }>('fs');
  const module =
    fs && url.startsWith('file:')
      ? await compile(url, await fs.promises.readFile(new URL(url)))
      : await fetchWasm(url, signal);
  checkWasm(module, variant, url);
  return module;
}

async function fetchWasm(url: string, signal: AbortSignal): Promise<WebAssembly.Module> {
  const response = await get(url, signal);
  // Servers that know no .wasm send another media type, which the streaming compiler refuses.
  if (!mediaType(response).startsWith('application/wasm')) return compile(url, await bytesOf(url, response));
  try {
    return await WebAssembly.compileStreaming(response);
  } catch (error) {
    throw new Error(`${url} is broken or cut short: ${textOf(error)}`, { cause: error });
  }
}

async function compile(url: string, bytes: Bytes): Promise<WebAssembly.Module> {
  const magic = [0, 0x61, 0x73, 0x6d];
  if (magic.some((byte, i) => bytes[i] !== byte)) {
    const start = String.fromCharCode(...bytes.subarray(0, 15));
    const page = /^\s*</.test(start) ? "; a server's page where the file is missing?" : '';
    throw new Error(`${url} is no WebAssembly: it starts with ${JSON.stringify(start)}${page}`);
  }
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    throw new Error(`${url} is broken or cut short: ${textOf(error)}`, { cause: error });
  }
}

async function get(url: string, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: 'same-origin', signal });
  } catch (error) {
    throw new Error(`${url} cannot be fetched: ${textOf(error)}`, { cause: error });
  }
  if (!response.ok) throw new Error(`${url}: HTTP ${response.status}`);
  return response;
}

async function bytesOf(url: string, response: Response): Promise<Bytes> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw new Error(`${url} broke off: ${textOf(error)}`, { cause: error });
  }
}

const mediaType = (response: Response): string => response.headers.get('content-type') ?? '';

/** Imports the glue at `url`, and sees that it is this library's. @throws Error naming the URL and what is wrong. */
export async function loadGlue(url: string, signal: AbortSignal): Promise<ModuleFactory> {
  let factory: unknown;
  try {
    const glue = (await import(/* @vite-ignore */ /* webpackIgnore: true */ url)) as { default?: unknown };
    factory = glue.default;
  } catch (error) {
    throw new Error(await whyNoGlue(url, error, signal), { cause: error });
  }
  if (typeof factory !== 'function') throw new Error(`${url} is not the module of a build of omnigrad`);
  const { buildId: found } = factory as ModuleFactory;
  if (found !== undefined && found !== buildId) throw otherBuild(url, found);
  return factory as ModuleFactory;
}

// Browsers do not say why an import failed.
async function whyNoGlue(url: string, error: unknown, signal: AbortSignal): Promise<string> {
  if (/^https?:/.test(url)) {
    try {
      const type = mediaType(await get(url, signal));
      if (!type.includes('javascript')) {
        return `${url} is served as "${type}", not as JavaScript; a server's page where the file is missing?`;
      }
    } catch (reason) {
      return textOf(reason);
    }
  }
  const text = textOf(error);
  return text.includes(url) ? text : `${url}: ${text}`;
}

/** The section that merge_glue.mjs adds says which build it is: told before anything of it runs. */
export function checkWasm(module: WebAssembly.Module, variant: Variant, name: string): void {
  const [section] = WebAssembly.Module.customSections(module, 'omnigrad');
  if (!section) throw new Error(`${name} is no build of omnigrad`);
  const [kind, found = ''] = new TextDecoder().decode(section).split(' ');
  if (kind !== variant) throw new Error(`${name} is the ${kind} build, not the ${variant} one`);
  if (found !== buildId) throw otherBuild(name, found);
}

function otherBuild(name: string, found: string): Error {
  return new Error(
    `${name} is of build ${found}, this library of ${buildId}; copy the assets again, or empty the cache`,
  );
}
