// The part of WebDriver (https://www.w3.org/TR/webdriver2/) that the tests need, as calls of fetch.

/** A session of the driver that listens at `origin`. */
export class Session {
  #base;
  constructor(base) {
    this.#base = base;
  }

  /** @param capabilities as alwaysMatch takes them */
  static async begin(origin, capabilities) {
    const { sessionId } = await call('POST', `${origin}/session`, {
      capabilities: { alwaysMatch: capabilities },
    });
    const session = new Session(`${origin}/session/${sessionId}`);
    await session.#post('timeouts', { script: 300_000, pageLoad: 60_000 });
    return session;
  }

  #post(path, body = {}) {
    return call('POST', `${this.#base}/${path}`, body);
  }

  goto(url) {
    return this.#post('url', { url });
  }
  reload() {
    return this.#post('refresh');
  }
  /** Runs a function of the page with one argument that JSON can hold; gives what it resolves to. */
  async evaluate(body, argument) {
    const script = `const done = arguments[1];
      Promise.resolve(arguments[0]).then(${body}).then(
        (value) => done({ value }),
        (error) => done({ error: String(error?.stack ?? error) }));`;
    const { value, error } = await this.#post('execute/async', { script, args: [argument ?? null] });
    if (error !== undefined) throw new Error(error);
    return value;
  }
  /** A PNG of what is seen of the page. */
  async screenshot() {
    return Buffer.from(await call('GET', `${this.#base}/screenshot`), 'base64');
  }
  end() {
    return call('DELETE', this.#base);
  }
}

async function call(method, url, body) {
  const response = await fetch(url, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  });
  const { value } = await response.json();
  if (!response.ok) throw new Error(`WebDriver: ${value.error}: ${value.message}`);
  return value;
}
