// Never serves, and lives.
setInterval(() => undefined, 1000);
