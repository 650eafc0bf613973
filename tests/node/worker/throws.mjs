throw new Error('thrown at the top');
